/*
 * Searches each name once for words that libraries and the driver use, and remembers the bits.
 */
#include "analysis/names/name_facts.h"

#include <string.h>

#include "trace/event_fields.h"

#define NAME_KNOWN 0x8000u
#define NAME_TENSOR 0x4000u /* the kernel uses tensor cores, so it is not NAME_FLOAT32 */

static const struct {
    const char *word;
    unsigned facts;
} words[] = {
    {"Pageable", NAME_PAGEABLE},
    {"HtoD", NAME_HTOD},
    {"DtoH", NAME_DTOH},
    {"GraphInstantiate", NAME_INSTANTIATES},
    {"Graph instantiation", NAME_INSTANTIATES},
    {"Graph ", NAME_NO_CODE},
    {"Context creation", NAME_NO_CODE},
    {"JIT compile", NAME_JIT},
    {"XlaCompile:", NAME_JIT},
    {"Page Fault", NAME_FAULT},
    {"Unified Memory memcpy", NAME_MIGRATION},
    {"Memset (Pinned", NAME_OF_HOST},
    {"Memset (Managed", NAME_OF_HOST},
    /* cuBLAS and cutlass name what their kernels multiply. */
    {"simt_sgemm", NAME_FLOAT32},
    {"_sgemm_", NAME_FLOAT32},
    {"f32f32_f32f32_f32", NAME_FLOAT32},
    {"tf32", NAME_TENSOR},
    {"tensorop", NAME_TENSOR},
    {"hmma", NAME_TENSOR},
    {"s1688", NAME_TENSOR},
    {"s16816", NAME_TENSOR},
};

unsigned name_facts_find(struct name_facts *facts, const struct interner *strings, uint32_t name)
{
    if (name == EVENT_NO_TEXT)
        return 0;
    uint16_t *known = array_at(&facts->items, name);
    if (!known)
        return 0;
    if (*known)
        return *known & ~NAME_KNOWN;
    unsigned bits = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        bits |= strstr(interned(strings, name), words[i].word) ? words[i].facts : 0;
    bits = bits & NAME_TENSOR ? bits & ~(NAME_TENSOR | NAME_FLOAT32) : bits;
    *known = (uint16_t)(bits | NAME_KNOWN);
    return bits;
}
