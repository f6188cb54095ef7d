#include "agent/nvtx/semantics.h"

#include "agent/nvtx/clocks.h"
#include "agent/nvtx/definitions.h"
#include "agent/nvtx/message.h"
#include "agent/nvtx/program_memory.h"

#define LIST_MAX 16 /* a list that does not end is left */

static void read_scope(const nvtxSemanticsScope_t *scope, struct spool_nvtx_semantics *record)
{
    record->scope = scope->scopeId;
    record->meanings |= SPOOL_NVTX_SCOPE_MEANT;
}

static void read_time(const nvtxSemanticsTime_t *time, struct spool_nvtx_semantics *record)
{
    record->time_domain = time->timeDomainId;
    record->meanings |= SPOOL_NVTX_TIME_MEANT;
    nvtx_clock_used(time->timeDomainId);
}

static void read_counter(const nvtxSemanticsCounter_t *counter, struct spool_nvtx_semantics *record,
                         struct gputrace_text *unit)
{
    record->flags = counter->flags;
    record->numerator = counter->unitScaleNumerator;
    record->denominator = counter->unitScaleDenominator;
    record->limit_type = (uint32_t)counter->limitType;
    record->least = counter->min.u64;
    record->most = counter->max.u64;
    record->meanings |= SPOOL_NVTX_COUNTER_MEANT;
    *unit = nvtx_ascii(counter->unit);
}

/* What is not known, or too short for what it says it is, is passed over. */
static void read_one(const nvtxSemanticsHeader_t *header, struct spool_nvtx_semantics *record,
                     struct gputrace_text *unit)
{
    const void *at = header;
    if (header->semanticId == NVTX_SEMANTIC_ID_SCOPE_V1 && header->structSize >= sizeof(nvtxSemanticsScope_t))
        read_scope(at, record);
    else if (header->semanticId == NVTX_SEMANTIC_ID_TIME_V1 && header->structSize >= sizeof(nvtxSemanticsTime_t))
        read_time(at, record);
    else if (header->semanticId == NVTX_SEMANTIC_ID_COUNTERS_V1 && header->structSize >= sizeof(nvtxSemanticsCounter_t))
        read_counter(at, record, unit);
}

void nvtx_semantics_define(const nvtxSemanticsHeader_t *first, uint16_t what, uint32_t of, uint32_t index)
{
    struct spool_nvtx_semantics record = {.of = of, .index = index};
    struct gputrace_text unit = {0};
    const nvtxSemanticsHeader_t *header = first;
    for (unsigned i = 0; header && i < LIST_MAX; i++, header = header->next) {
        if (program_readable((uintptr_t)header, sizeof(*header)) < sizeof(*header) ||
            program_readable((uintptr_t)header, header->structSize) < header->structSize)
            break;
        read_one(header, &record, &unit);
    }
    if (record.meanings != 0)
        nvtx_define(NVTX_RECORD(SEMANTICS, &record, .flags = what, .text = unit));
}
