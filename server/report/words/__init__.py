"""The words of reviews, in the report and on terminals, in a module for each language."""
