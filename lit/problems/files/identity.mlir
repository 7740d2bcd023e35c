// A program against itself: one module can be both sides.
// RUN: expect-exit 0 validate-hlo %s | filecheck %s
// CHECK: PROVED (exact)  {{.*}}:@same → {{.*}}:@same

"shardproof.problem"() {spec = @same, impl = @same, theory = "exact", expect = "PROVED"} : () -> ()
module @same {
  func.func public @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = stablehlo.negate %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
