def tax(x):
    for y in x:
        yield y
