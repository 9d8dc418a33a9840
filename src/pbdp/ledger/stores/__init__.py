"""Where records are kept: one small interface, a file (SQLite) and a server (PostgreSQL).

interface   what a store can do
sql         what both stores say in SQL
sqlite      a file
postgres    a server
at          which of them keeps the ledger at a place
"""
