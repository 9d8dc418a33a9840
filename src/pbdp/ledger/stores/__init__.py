"""Where records are kept: one small interface, a file (SQLite) and a server (PostgreSQL)."""
