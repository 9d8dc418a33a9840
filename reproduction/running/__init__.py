"""Cases in worker processes, each kept when it is finished."""
