def late():
    import pandas

RATE = 2
