// expected-error@+1 {{no end
