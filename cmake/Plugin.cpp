// For `mlir-opt --load-dialect-plugin` and `--load-pass-plugin`.

#include "Dialect.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "shardproof", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *registry) { shardproof::registerDialect(*registry); }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "shardproof", LLVM_VERSION_STRING, [] { shardproof::registerPasses(); }};
}
