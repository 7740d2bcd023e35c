// The `shardproof` dialect: validation problems, relation files and the relations in them.
//
// This file is the definition. Plain MLIR tools load it (`mlir-opt --irdl-file=shardproof.irdl.mlir`), the native tool has
// it built in, and the Python verifier and the page docs/dialect.md read it too. IRDL knows no optional attributes; those
// an operation may have are listed with it as `optional`, each with the base it has or the bases it may have.

irdl.dialect @shardproof {

  // Relations: what each device holds of a logical tensor.

  irdl.attribute @replicated attributes {
    summary = "Each device holds the whole tensor."
  } {}

  irdl.attribute @shard attributes {
    summary = "Each device holds its part of one dimension, cut evenly over all devices in the order of their numbers."
  } {
    %dimension = irdl.base "#builtin.integer"
    irdl.parameters(dimension: %dimension)
  }

  irdl.attribute @shard_over attributes {
    summary = "Each device holds its part of one dimension, cut evenly over axes of a mesh, the major axis first."
  } {
    %dimension = irdl.base "#builtin.integer"
    %mesh = irdl.base "#builtin.symbol_ref"
    %axes = irdl.base "#builtin.array"
    irdl.parameters(dimension: %dimension, mesh: %mesh, axes: %axes)
  }

  irdl.attribute @shard_blocks attributes {
    summary = "One dimension consists of blocks of the given sizes; each device holds its part of each of them."
  } {
    %dimension = irdl.base "#builtin.integer"
    %sizes = irdl.base "#builtin.array"
    irdl.parameters(dimension: %dimension, sizes: %sizes)
  }

  // Meshes, problems and relation files.

  irdl.operation @mesh attributes {
    summary = "A mesh of devices: axes from major to minor with their sizes, over devices in the order of their numbers or in the order that is given.",
    optional = {device_ids = "#builtin.dense_array"}
  } {
    %sym_name = irdl.base "#builtin.string"
    %axes = irdl.base "#builtin.array"
    %sizes = irdl.base "#builtin.dense_array"
    irdl.attributes {"sym_name" = %sym_name, "axes" = %axes, "sizes" = %sizes}
  }

  irdl.operation @relations attributes {
    summary = "How the parameters and the results of two programs relate; a list that is left out leaves them to their shardings.",
    optional = {parameters = "#builtin.array", results = "#builtin.array"}
  } {
    irdl.operands()
    irdl.results()
  }

  irdl.operation @problem attributes {
    summary = "Two programs, as modules of this file or as paths of other files, how they relate, the weakest arithmetic to accept, and the verdict that is expected.",
    optional = {
      sym_name = "#builtin.string", parameters = "#builtin.array", results = "#builtin.array",
      assume = "#builtin.array", proof = "#builtin.string"
    }
  } {
    %spec_module = irdl.base "#builtin.symbol_ref"
    %spec_file = irdl.base "#builtin.string"
    %spec = irdl.any_of(%spec_module, %spec_file)

    %impl_module = irdl.base "#builtin.symbol_ref"
    %impl_file = irdl.base "#builtin.string"
    %impl = irdl.any_of(%impl_module, %impl_file)

    %exact = irdl.is "exact"
    %reassociated = irdl.is "reassociated"
    %real = irdl.is "real"
    %theory = irdl.any_of(%exact, %reassociated, %real)

    %proved = irdl.is "PROVED"
    %refuted = irdl.is "REFUTED"
    %not_proved = irdl.is "NOT_PROVED"
    %unsupported = irdl.is "UNSUPPORTED"
    %expect = irdl.any_of(%proved, %refuted, %not_proved, %unsupported)

    irdl.attributes {"spec" = %spec, "impl" = %impl, "theory" = %theory, "expect" = %expect}
  }

  // Certificates: a flat list, in the order that `validator/check/certificate.py` reads. A block inside an operation of a
  // program stands between `block` and `end`, since IRDL knows no terminators that would end a region's block.

  irdl.operation @certificate attributes {
    summary = "The head of a certificate: its version and seal, the theory of the whole and of each result, the coordinates of a device, and the fingerprints of both programs."
  } {
    %version = irdl.base "#builtin.integer"
    %seal = irdl.base "#builtin.string"

    %exact = irdl.is "exact"
    %reassociated = irdl.is "reassociated"
    %real = irdl.is "real"
    %theory = irdl.any_of(%exact, %reassociated, %real)

    %results = irdl.base "#builtin.array"
    %assumptions = irdl.base "#builtin.array"
    %mesh = irdl.base "#builtin.array"
    %before = irdl.base "#builtin.string"
    %after = irdl.base "#builtin.string"
    irdl.attributes {
      "version" = %version, "seal" = %seal, "theory" = %theory, "results" = %results, "assumptions" = %assumptions,
      "mesh" = %mesh, "before" = %before, "after" = %after
    }
  }

  irdl.operation @relation attributes {
    summary = "A relation in isl's notation; relations are numbered as they stand."
  } {
    %text = irdl.base "#builtin.string"
    irdl.attributes {"text" = %text}
  }

  irdl.operation @term attributes {
    summary = "A definition of a logical tensor; its parts are triples of a term, a relation (-1 for none) and a count. Terms are numbered as they stand."
  } {
    %kind = irdl.base "#builtin.string"
    %type = irdl.base "#builtin.string"
    %arity = irdl.base "#builtin.integer"
    %key = irdl.base "#builtin.string"
    %parts = irdl.base "#builtin.array"
    %levels = irdl.base "#builtin.integer"
    irdl.attributes {
      "kind" = %kind, "type" = %type, "arity" = %arity, "key" = %key, "parts" = %parts, "levels" = %levels
    }
  }

  irdl.operation @program attributes {
    summary = "What follows speaks of a program, the first time of the one before, the second time of the one after."
  } {
    irdl.operands()
    irdl.results()
  }

  irdl.operation @step attributes {
    summary = "What follows, up to the next step, speaks of one operation, by its position in its block."
  } {
    %position = irdl.base "#builtin.integer"
    %op = irdl.base "#builtin.string"
    irdl.attributes {"position" = %position, "op" = %op}
  }

  irdl.operation @claim attributes {
    summary = "What an operand or a result of the step's operation is: pieces as triples of a term, a relation and a count, as a view or combined by an operation."
  } {
    %operand = irdl.is "operand"
    %result = irdl.is "result"
    %of = irdl.any_of(%operand, %result)

    %position = irdl.base "#builtin.integer"
    %monoid = irdl.base "#builtin.string"
    %pieces = irdl.base "#builtin.array"
    irdl.attributes {"of" = %of, "position" = %position, "monoid" = %monoid, "pieces" = %pieces}
  }

  irdl.operation @equal attributes {
    summary = "What a term also is, at the indices at which the parts are read: terms and relations with a count of one, in whose place the next claim has them. It tells how that is shown, the arithmetic, and the terms whose definitions are needed."
  } {
    %term = irdl.base "#builtin.integer"
    %parts = irdl.base "#builtin.array"
    %rules = irdl.is "rules"
    %reals = irdl.is "reals"
    %by = irdl.any_of(%rules, %reals)
    %exact = irdl.is "exact"
    %reassociated = irdl.is "reassociated"
    %real = irdl.is "real"
    %theory = irdl.any_of(%exact, %reassociated, %real)
    %opened = irdl.base "#builtin.array"
    irdl.attributes {"term" = %term, "parts" = %parts, "by" = %by, "theory" = %theory, "opened" = %opened}
  }

  irdl.operation @instance attributes {
    summary = "A rule of the e-graph with terms, relations, constants, element types and operations in place of its variables, at the points of a relation; the equality before it follows from its instances."
  } {
    %rule = irdl.base "#builtin.string"
    %at = irdl.base "#builtin.integer"
    %bound = irdl.base "#builtin.array"
    irdl.attributes {"rule" = %rule, "at" = %at, "bound" = %bound}
  }

  irdl.operation @loop attributes {
    summary = "The loop of the program before that the step's loop is paired with, by its number (-1 for a loop that is repeated), and the relation of each carried value."
  } {
    %pair = irdl.base "#builtin.integer"
    %relations = irdl.base "#builtin.array"
    irdl.attributes {"pair" = %pair, "relations" = %relations}
  }

  irdl.operation @block attributes {
    summary = "What follows, up to the matching end, speaks of a block inside the step's operation; blocks stand in order."
  } {
    irdl.operands()
    irdl.results()
  }

  irdl.operation @end attributes {
    summary = "The end of a block."
  } {
    irdl.operands()
    irdl.results()
  }
}
