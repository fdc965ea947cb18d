from decimal import Decimal

RATE = Decimal("0.19")
