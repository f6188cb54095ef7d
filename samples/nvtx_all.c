/*
 * nvtx_all: every function of nvToolsExt.h, nvToolsExtCuda.h, nvToolsExtCudaRt.h, nvToolsExtOpenCL.h and
 * nvToolsExtSync.h, with GPU work in ranges of every sort. `nvtx` shows texts, payloads and categories more closely.
 *
 * A correct trace holds: ranges and marks of every function, those of the shared library too, in one domain with the
 * program's; attributes of structs that are longer and shorter than NVTX's; ranges left open, and counts of pops, ends
 * and releases without a beginning; who waited for which synchronisation object, and held it; names of threads, of the
 * device, its context, streams and events; resources of every type; and on the GPU's rows the spans of ranges whose
 * work was started by a call, a graph, or two threads one after the other.
 */
#include <nvtx3/nvToolsExt.h>
#include <stddef.h>
#include <wchar.h>

#include "nvtx_all.h"
#include "nvtx_all_cuda.h"
#include "nvtx_all_library.h"
#include "nvtx_all_things.h"

static void core(void)
{
    nvtxEventAttributes_t event = event_of("mark by attributes");
    nvtxMarkEx(&event);
    did_mark("\"mark by attributes\"");
    nvtxMarkA("mark");
    did_mark("\"mark\"");
    nvtxMarkW(L"Marke \u00e4");
    did_mark("\"Marke ä\"");

    event = event_of("push by attributes");
    depth_is(nvtxRangePushEx(&event), 0);
    did_push("\"push by attributes\"");
    depth_is(nvtxRangePushA("push"), 1);
    did_push("\"push\"");
    depth_is(nvtxRangePushW(L"Schritt \u00e4"), 2);
    did_push("\"Schritt ä\"");
    for (int depth = 2; depth >= 0; depth--)
        depth_is(nvtxRangePop(), depth);

    event = event_of("start by attributes");
    nvtxRangeId_t ranges[] = {nvtxRangeStartEx(&event), nvtxRangeStartA("start"), nvtxRangeStartW(L"Beginn \u00e4")};
    did_start("\"start by attributes\"");
    did_start("\"start\"");
    did_start("\"Beginn ä\"");
    for (int i = 0; i < 3; i++)
        nvtxRangeEnd(ranges[i]);
    nvtxNameCategoryA(1, "the first");
    nvtxNameCategoryW(2, L"die zweite");
    event = event_of("categories");
    for (event.category = 1; event.category <= 3; event.category++)
        nvtxMarkEx(&event);
    did_mark("\"categories\" category \"the first\"");
    did_mark("\"categories\" category \"die zweite\"");
    did_mark("\"categories\" category 3");
}

static void core_of_a_domain(void)
{
    nvtxEventAttributes_t event = event_of("mark of a domain");
    nvtxDomainMarkEx(domain, &event);
    did_mark("\"mark of a domain\" domain \"everything\"");
    event = event_of("push of a domain");
    depth_is(nvtxDomainRangePushEx(domain, &event), 0);
    did_push("\"push of a domain\" domain \"everything\"");
    depth_is(nvtxRangePushA("push of no domain"), 0);
    did_push("\"push of no domain\"");
    depth_is(nvtxDomainRangePop(domain), 0); /* before the one that was pushed in it */
    depth_is(nvtxRangePop(), 0);
    event = event_of("start of a domain");
    nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &event));
    did_start("\"start of a domain\" domain \"everything\"");
    nvtxDomainNameCategoryA(domain, 1, "the first of all");
    nvtxDomainNameCategoryW(domain, 2, L"die zweite von allen");
    event = event_of("categories");
    for (event.category = 1; event.category <= 2; event.category++)
        nvtxDomainMarkEx(domain, &event);
    did_mark("\"categories\" domain \"everything\" category \"the first of all\"");
    did_mark("\"categories\" domain \"everything\" category \"die zweite von allen\"");
    event.category = 0;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainMarkEx(domain, &event);
    did_mark("\"registered\" domain \"everything\"");
    event.message.registered = nvtxDomainRegisterStringW(domain, L"registriert \u00e4");
    nvtxDomainMarkEx(domain, &event);
    did_mark("\"registriert ä\" domain \"everything\"");
}

/* Structs of other versions: longer, and cut before the message, the payload, the colour. */
static void attributes_of_other_sizes(void)
{
    struct {
        nvtxEventAttributes_t known;
        uint64_t unknown[4];
    } longer = {.known = event_of("longer"), .unknown = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    longer.known.size = sizeof(longer);
    nvtxMarkEx(&longer.known);
    did_mark("\"longer\"");

    nvtxEventAttributes_t event = event_of("too short for this");
    event.category = 1;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff102030;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.iValue = -5;
    event.size = offsetof(nvtxEventAttributes_t, message);
    nvtxMarkEx(&event);
    did_mark("\"(no message)\" category \"the first\" color \"#102030\" payload -5");
    event.size = offsetof(nvtxEventAttributes_t, payload);
    nvtxMarkEx(&event);
    did_mark("\"(no message)\" category \"the first\" color \"#102030\"");
    event.size = offsetof(nvtxEventAttributes_t, color);
    nvtxMarkEx(&event);
    did_mark("\"(no message)\" category \"the first\"");
    event.size = 0;
    nvtxMarkEx(&event);
    did_mark("\"(no message)\"");
}

/* The program and its library have one domain, with one stack on each thread. */
static void two_modules(void)
{
    library_open("everything");
    library_work();
    did_push("\"in the library\" domain \"everything\" category \"from the library\"");
    did_mark("\"a mark of the library's\"");
    nvtxEventAttributes_t event = event_of("pushed here, popped there");
    depth_is(nvtxDomainRangePushEx(domain, &event), 0);
    depth_is(library_pop(), 0);
    did_push("\"pushed here, popped there\" domain \"everything\"");
    library_end(nvtxRangeStartA("started here, ended there"));
    did_start("\"started here, ended there\"");
    library_close();
    event = event_of("after one of two was destroyed");
    nvtxDomainMarkEx(domain, &event);
    did_mark("\"after one of two was destroyed\" domain \"everything\"");
}

static void loose_ends(void)
{
    must(nvtxRangePop() < 0, "a pop without a push gave a depth");
    nvtxRangeEnd(UINT64_C(1) << 60);
    state_count("loss unmatched_ranges", 2);
    nvtxRangePushA("left open");
    did_push("\"left open\"");
    nvtxRangeStartA("never ended");
    did_start("\"never ended\"");
    state("open \"left open\"");
    state("open \"never ended\"");
}

int main(void)
{
    nvtxInitialize(NULL);
    nvtxNameOsThreadA(this_thread(), "the first");
    did_name_row("the first");
    domain = nvtxDomainCreateA("everything");
    must(nvtxDomainCreateW(L"everything") == domain, "a domain of the same name is another one");
    core();
    core_of_a_domain();
    attributes_of_other_sizes();
    two_modules();
    resources();
    opencl();
    synchronisation();
    cuda();
    loose_ends();
    nvtxDomainDestroy(domain);
    puts("NVTX: all of it");
    state_print();
    return 0;
}
