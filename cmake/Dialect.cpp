// The dialect in native MLIR: loaded from its IRDL definition when a context starts.

#include "Dialect.h"
#include "Definition.h"

#include "mlir/Dialect/IRDL/IR/IRDL.h"
#include "mlir/Dialect/IRDL/IRDLLoading.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/ExtensibleDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace {

OwningOpRef<ModuleOp> parseDefinition(MLIRContext *context) {
  context->loadDialect<irdl::IRDLDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(shardproofDefinition, context);
  if (!module)
    llvm::report_fatal_error("the built-in definition of the dialect does not parse");
  return module;
}

/// Fills the dialect, which is empty when a context first asks for it, with what the definition says.
struct LoadShardproofDefinition : DialectExtensionBase {
  LoadShardproofDefinition() : DialectExtensionBase({"shardproof"}) {}

  void apply(MLIRContext *context, MutableArrayRef<Dialect *>) const final {
    if (failed(irdl::loadDialects(*parseDefinition(context))))
      llvm::report_fatal_error("the built-in definition of the dialect does not load");
  }
  std::unique_ptr<DialectExtensionBase> clone() const final { return std::make_unique<LoadShardproofDefinition>(*this); }
};

/// The attributes of one operation: those IRDL checks, and those it may have, each with the kinds it may be of.
struct Attributes {
  llvm::SmallVector<StringRef> required;
  DictionaryAttr optional;
};

/// Whether an attribute is of one of the kinds that the definition names, such as `#builtin.string`.
bool isOfKind(Attribute attribute, Attribute kinds) {
  if (auto alternatives = dyn_cast<ArrayAttr>(kinds))
    return llvm::any_of(alternatives, [&](Attribute kind) { return isOfKind(attribute, kind); });
  return cast<StringAttr>(kinds).getValue().drop_front() == attribute.getAbstractAttribute().getName();
}

struct VerifyPass : PassWrapper<VerifyPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyPass)

  StringRef getArgument() const final { return "shardproof-verify"; }
  StringRef getDescription() const final {
    return "Check the optional attributes of operations of the dialect, which IRDL cannot describe";
  }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<irdl::IRDLDialect>(); }

  LogicalResult initialize(MLIRContext *context) final {
    definition = parseDefinition(context);
    definition->walk([&](irdl::OperationOp op) {
      Attributes &attributes = known[("shardproof." + op.getSymName()).str()];
      attributes.optional = op->getAttrOfType<DictionaryAttr>("optional");
      op.walk([&](irdl::AttributesOp listed) {
        for (auto name : listed.getAttributeValueNames().getAsRange<StringAttr>())
          attributes.required.push_back(name.getValue());
      });
    });
    return success();
  }

  void runOnOperation() final {
    bool isValid = true;
    getOperation()->walk([&](Operation *op) {
      auto found = known.find(op->getName().getStringRef());
      if (found == known.end())
        return;
      for (NamedAttribute attribute : op->getAttrs()) {
        StringRef name = attribute.getName();
        // Attributes that bear another dialect's name may stand on any operation.
        if (name.contains('.') || llvm::is_contained(found->second.required, name))
          continue;
        Attribute kinds = found->second.optional ? found->second.optional.get(name) : Attribute();
        if (!kinds) {
          op->emitError() << "'" << op->getName() << "' with unknown '" << name << "'";
          isValid = false;
        } else if (!isOfKind(attribute.getValue(), kinds)) {
          op->emitError() << "'" << name << "' is '" << attribute.getValue() << "', expected " << kinds;
          isValid = false;
        }
      }
    });
    if (!isValid)
      signalPassFailure();
  }

  VerifyPass() = default;
  VerifyPass(const VerifyPass &other) : PassWrapper(other) {}

private:
  OwningOpRef<ModuleOp> definition;
  llvm::StringMap<Attributes> known;
};

} // namespace

void shardproof::registerDialect(DialectRegistry &registry) {
  registry.insertDynamic("shardproof", [](MLIRContext *, DynamicDialect *) {});
  registry.addExtension(TypeID::get<LoadShardproofDefinition>(), std::make_unique<LoadShardproofDefinition>());
}

void shardproof::registerPasses() { PassRegistration<VerifyPass>(); }
