"""Where the log is kept: a file (SQLite) or a server (PostgreSQL). Nothing is looked up in it.

interface   what a store can do
sql         what both stores say in SQL
sqlite      a file
postgres    a server
"""
