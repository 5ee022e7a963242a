"""`align`: genome against genome. (`gpualign.align` is the function and the folder of the primitives.)"""
