# Tables by CUPTI's callback ids, made from CUPTI's headers: names of API calls (`[211] = "cudaLaunchKernel",`) for
# api_names.c, and which of them are queries (`[165] = 1,`) for api_classes.c.
# CUPTI's headers lie beside CUDA's (packages, wheels) or below extras (the toolkit's installer).

CUPTI_INCLUDE := $(firstword $(dir $(wildcard $(CUDA_HOME)/extras/CUPTI/include/cupti.h $(CUDA_HOME)/include/cupti.h)))
GEN := $(B)/obj/gen
CBID_NAMES := $(foreach api,runtime driver,$(GEN)/wire/$(api)_cbid.inc)
CBID_QUERIES := $(foreach api,runtime driver,$(GEN)/wire/$(api)_queries.inc)

define CBID_RULE
$(GEN)/wire/$(1)_cbid.inc: $$(wildcard $(CUPTI_INCLUDE)cupti_$(1)_cbid.h) src/wire/cbid.awk | toolkit
	@mkdir -p $$(@D)
	awk -f src/wire/cbid.awk $(CUPTI_INCLUDE)cupti_$(1)_cbid.h >$$@

$(GEN)/wire/$(1)_queries.inc: $$(wildcard $(CUPTI_INCLUDE)cupti_$(1)_cbid.h) src/wire/cbid.awk src/wire/api_classes.list | toolkit
	@mkdir -p $$(@D)
	awk -v class=query -f src/wire/cbid.awk src/wire/api_classes.list $(CUPTI_INCLUDE)cupti_$(1)_cbid.h >$$@
endef
$(foreach api,runtime driver,$(eval $(call CBID_RULE,$(api))))

CBID_OBJ := src/tool/decode/api_names.o src/wire/api_classes.o
$(addprefix $(B)/obj/,$(CBID_OBJ)): $(CBID_NAMES) $(CBID_QUERIES)
$(addprefix $(B)/obj/,$(CBID_OBJ)): INCLUDES += -I$(GEN)
