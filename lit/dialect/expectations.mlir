// Expectations that are not met, diagnostics that are not expected, and comments that only look like expectations.
// RUN: expect-exit 1 %dialect %S/Inputs/unmet.mlir --split-input-file --verify-diagnostics 2>&1 | filecheck %s
// RUN: expect-exit 1 %dialect %S/Inputs/malformed.mlir --verify-diagnostics 2>&1 | filecheck %s --check-prefix MALFORMED

// CHECK: unmet.mlir:3:1: error: unexpected error: 'shardproof.relations' with unknown 'a'
// CHECK-NEXT: unmet.mlir:7: error: expected error 'with unknown 'b'' was not produced
// CHECK-NOT: error

// MALFORMED: malformed.mlir:1: error: malformed expectation
