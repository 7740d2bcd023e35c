// `mlir-opt` for problem, relation and certificate files: parses, verifies and prints them.

#include "Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect>();
  shardproof::registerDialect(registry);
  shardproof::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "shardproof: problems, relations and certificates\n", registry));
}
