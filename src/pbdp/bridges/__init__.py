"""Plans inside other people's libraries: `bridges.dp_accounting` and `bridges.opendp`.

Each imports its library, which is not a dependency of pbdp: install it to use the bridge.
"""
