def f(v):
    return v
