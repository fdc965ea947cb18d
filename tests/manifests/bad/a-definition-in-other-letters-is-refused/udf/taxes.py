def Tax(x):
    return x
