# Names of API calls, from CUPTI's lists of callback ids: rows `[211] = "cudaLaunchKernel",` for api_names.c.
# CUPTI's headers lie beside CUDA's (packages, wheels) or below extras (the toolkit's installer).

CUPTI_INCLUDE := $(firstword $(dir $(wildcard $(CUDA_HOME)/extras/CUPTI/include/cupti.h $(CUDA_HOME)/include/cupti.h)))
GEN := $(B)/obj/gen

define CBID_RULE
$(GEN)/tool/decode/$(1)_cbid.inc: $$(wildcard $(CUPTI_INCLUDE)cupti_$(1)_cbid.h) src/tool/decode/cbid.awk | toolkit
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)awk -f src/tool/decode/cbid.awk $(CUPTI_INCLUDE)cupti_$(1)_cbid.h >$$@
endef
$(foreach api,runtime driver,$(eval $(call CBID_RULE,$(api))))

$(B)/obj/src/tool/decode/api_names.o: $(foreach api,runtime driver,$(GEN)/tool/decode/$(api)_cbid.inc)
$(B)/obj/src/tool/decode/api_names.o: INCLUDES += -I$(GEN)
