class A:
    def tax(x):
        return x
