"""The layer between gRPC and the services: handlers, statuses, tokens, callers, deadlines, admission."""
