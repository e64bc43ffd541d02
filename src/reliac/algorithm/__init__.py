"""The paper: criteria, reliable links, the loop of Algorithm 1, and the contract that every engine fulfils."""
