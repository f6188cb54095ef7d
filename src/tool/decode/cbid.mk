# Names from NVIDIA's headers: of API calls by CUPTI's callback ids, rows `[211] = "cudaLaunchKernel",` for api_names.c;
# and of errors by number, rows `case 2: return "cudaErrorMemoryAllocation";` for error_names.c.
# CUPTI's headers lie beside CUDA's (packages, wheels) or below extras (the toolkit's installer).

CUPTI_INCLUDE := $(firstword $(dir $(wildcard $(CUDA_HOME)/extras/CUPTI/include/cupti.h $(CUDA_HOME)/include/cupti.h)))
GEN := $(B)/obj/gen

define CBID_RULE
$(GEN)/tool/decode/$(1)_cbid.inc: $$(wildcard $(CUPTI_INCLUDE)cupti_$(1)_cbid.h) src/tool/decode/cbid.awk | toolkit
	@mkdir -p $$(@D)
	awk -f src/tool/decode/cbid.awk $(CUPTI_INCLUDE)cupti_$(1)_cbid.h >$$@
endef
$(foreach api,runtime driver,$(eval $(call CBID_RULE,$(api))))

$(B)/obj/src/tool/decode/api_names.o: $(foreach api,runtime driver,$(GEN)/tool/decode/$(api)_cbid.inc)

define ERROR_RULE
$(GEN)/tool/decode/$(1)_errors.inc: $$(wildcard $(CUDA_HOME)/include/$(2)) src/tool/decode/error_names.awk | toolkit
	@mkdir -p $$(@D)
	awk -f src/tool/decode/error_names.awk $(CUDA_HOME)/include/$(2) >$$@
endef
$(eval $(call ERROR_RULE,runtime,driver_types.h))
$(eval $(call ERROR_RULE,driver,cuda.h))

$(B)/obj/src/tool/decode/error_names.o: $(foreach api,runtime driver,$(GEN)/tool/decode/$(api)_errors.inc)
$(B)/obj/src/tool/decode/%_names.o: INCLUDES += -I$(GEN)
