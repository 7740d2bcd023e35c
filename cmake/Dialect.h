#pragma once

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace shardproof {

/// Makes every context with this registry know the dialect.
void registerDialect(mlir::DialectRegistry &registry);

/// Registers the pass `shardproof-verify`, which checks what IRDL cannot: attributes that an operation may have.
void registerPasses();

} // namespace shardproof
