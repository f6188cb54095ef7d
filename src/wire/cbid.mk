# Tables made from NVIDIA's headers: names of API calls by CUPTI's callback ids (`[211] = "cudaLaunchKernel",`) for
# api_names.c, their classes (`[165] = API_QUERY,`) for api_classes.c, and names of errors by number
# (`case 2: return "cudaErrorMemoryAllocation";`) for error_names.c.
# CUPTI's headers lie beside CUDA's (packages, wheels) or below extras (the toolkit's installer).

CUPTI_INCLUDE := $(firstword $(dir $(wildcard $(CUDA_HOME)/extras/CUPTI/include/cupti.h $(CUDA_HOME)/include/cupti.h)))
GEN := $(B)/obj/gen

define CBID_RULE
$(GEN)/wire/$(1)_cbid.inc: $$(wildcard $(CUPTI_INCLUDE)cupti_$(1)_cbid.h) src/wire/cbid.awk | toolkit
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)awk -f src/wire/cbid.awk $(CUPTI_INCLUDE)cupti_$(1)_cbid.h >$$@

$(GEN)/wire/$(1)_classes.inc: $$(wildcard $(CUPTI_INCLUDE)cupti_$(1)_cbid.h) src/wire/cbid.awk src/wire/api_classes.list | toolkit
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)awk -f src/wire/cbid.awk src/wire/api_classes.list $(CUPTI_INCLUDE)cupti_$(1)_cbid.h >$$@

$(GEN)/tool/decode/$(1)_errors.inc: $$(wildcard $(CUDA_HOME)/include/$(2)) src/tool/decode/error_names.awk | toolkit
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)awk -f src/tool/decode/error_names.awk $(CUDA_HOME)/include/$(2) >$$@
endef
$(eval $(call CBID_RULE,runtime,driver_types.h))
$(eval $(call CBID_RULE,driver,cuda.h))

GEN_OBJ := src/tool/decode/api_names.o src/tool/decode/error_names.o src/wire/api_classes.o
GEN_TABLES := $(foreach api,runtime driver,$(addprefix $(GEN)/,wire/$(api)_cbid.inc wire/$(api)_classes.inc \
    tool/decode/$(api)_errors.inc))
$(addprefix $(B)/obj/,$(GEN_OBJ)): $(GEN_TABLES)
$(addprefix $(B)/obj/,$(GEN_OBJ)): INCLUDES += -I$(GEN)
