"""What is answered to each request: one module for each kind. `application` puts them together."""
