"""Where records are kept: one small interface, a file (SQLite) and a server (PostgreSQL).

    interface   what a store can do
    sql         what both stores say in SQL
    sqlite      a file
    postgres    a server

Which one keeps the ledger at a place: `store_at` in `pbdp.ledger.ledger`.
"""
