"""The conversion of requests into questions, and of answers into messages."""
