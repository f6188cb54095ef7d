#include "analysis/names/name_facts.h"

#include <string.h>

#include "trace/event_fields.h"

#define NAME_KNOWN 0x8000u

static const struct {
    const char *part;
    unsigned facts;
} parts[] = {
    {"Pageable", NAME_PAGEABLE},
    {"HtoD", NAME_HTOD},
    {"DtoH", NAME_DTOH},
    {"GraphInstantiate", NAME_INSTANTIATES},
    {"Graph instantiation", NAME_INSTANTIATES},
    {"Graph ", NAME_NO_CODE},
    {"Context creation", NAME_NO_CODE},
    {"JIT compile", NAME_JIT},
    {"Page Fault", NAME_FAULT},
    {"Unified Memory memcpy", NAME_MIGRATION},
    {"Memset (Pinned", NAME_OF_HOST},
    {"Memset (Managed", NAME_OF_HOST},
};

static unsigned facts_of(const char *text)
{
    unsigned facts = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (strstr(text, parts[i].part))
            facts |= parts[i].facts;
    return facts;
}

unsigned name_facts_find(struct name_facts *facts, const struct interner *strings, uint32_t name)
{
    if (name == EVENT_NO_TEXT)
        return 0;
    while (facts->items.count <= name)
        if (!array_push(&facts->items))
            return 0;
    uint16_t *known = &facts->items.items[name];
    if (!*known)
        *known = (uint16_t)(facts_of(interned(strings, name)) | NAME_KNOWN);
    return *known & ~NAME_KNOWN;
}
