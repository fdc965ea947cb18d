def tax(x, y):
    return x
