# Tables made from NVIDIA's headers: names of API calls by CUPTI's callback ids (`[211] = "cudaLaunchKernel",`) for
# trace/spool/cupti.c, their classes (`[165] = API_QUERY,`) for common/cupti.c, and names of errors by number
# (`case 2: return "cudaErrorMemoryAllocation";`) for trace/spool/cupti.c.
# CUPTI's headers lie beside CUDA's (packages, wheels) or below extras (the toolkit's installer).

CUPTI_INCLUDE := $(firstword $(dir $(wildcard $(CUDA_HOME)/extras/CUPTI/include/cupti.h $(CUDA_HOME)/include/cupti.h)))
GEN := $(B)/obj/gen

define CBID_RULE
$(GEN)/common/$(1)_cbid.inc: $$(wildcard $(CUPTI_INCLUDE)cupti_$(1)_cbid.h) src/common/cbid.awk | toolkit
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)awk -f src/common/cbid.awk $(CUPTI_INCLUDE)cupti_$(1)_cbid.h >$$@

$(GEN)/common/$(1)_classes.inc: $$(wildcard $(CUPTI_INCLUDE)cupti_$(1)_cbid.h) src/common/cbid.awk src/common/api_classes.list | toolkit
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)awk -f src/common/cbid.awk src/common/api_classes.list $(CUPTI_INCLUDE)cupti_$(1)_cbid.h >$$@

$(GEN)/trace/spool/$(1)_errors.inc: $$(wildcard $(CUDA_HOME)/include/$(2)) src/common/cbid.awk | toolkit
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)awk -f src/common/cbid.awk $(CUDA_HOME)/include/$(2) >$$@
endef
$(eval $(call CBID_RULE,runtime,driver_types.h))
$(eval $(call CBID_RULE,driver,cuda.h))

GEN_OBJ := src/trace/spool/cupti.o src/common/cupti.o
GEN_TABLES := $(foreach api,runtime driver,$(addprefix $(GEN)/,common/$(api)_cbid.inc common/$(api)_classes.inc \
    trace/spool/$(api)_errors.inc))
$(addprefix $(B)/obj/,$(GEN_OBJ)): $(GEN_TABLES)
$(addprefix $(B)/obj/,$(GEN_OBJ)): INCLUDES += -I$(GEN)
