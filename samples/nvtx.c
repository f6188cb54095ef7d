/*
 * nvtx: NVTX of every sort. Needs no GPU and no CUDA driver.
 *
 * A correct trace holds: the ranges and marks below, each on the thread that made it, with domain, category, colour and
 * payload as given; texts given as wide characters as UTF-8; ranges that were started and ended as asynchronous ones,
 * also where another thread ended them; threads by their given names; and ranges of two domains that overlap without
 * nesting, both whole.
 */
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include "statement.h"

enum { CATEGORY_INPUT = 1, CATEGORY_OUTPUT = 2 };

static nvtxDomainHandle_t physics, graphics;

static void rest(void)
{
    usleep(200); /* so that every range can be seen */
}

static void did_push(const char *words)
{
    state("nvtx push %s", words);
    state_count("pushes", 1);
}

static void did_start(const char *words)
{
    state("nvtx start %s", words);
    state_count("starts", 1);
}

static void did_mark(const char *words)
{
    state("nvtx mark %s", words);
    state_count("marks", 1);
}

static nvtxEventAttributes_t event_of(const char *message)
{
    return (nvtxEventAttributes_t){.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message = {.ascii = message}};
}

static void nested_ranges(void)
{
    nvtxRangePushA("outer");
    did_push("\"outer\"");
    for (int i = 0; i < 3; i++) {
        nvtxRangePushA("inner");
        did_push("\"inner\"");
        rest();
        nvtxRangePop();
    }
    nvtxRangePop();
}

static void wide_texts(void)
{
    nvtxRangePushW(L"Grüße \u4e16\u754c \U0001f600");
    did_push("\"Grüße 世界 😀\"");
    rest();
    nvtxRangePop();
    nvtxMarkW(L"Ω");
    did_mark("\"Ω\"");
}

/* What JSON and shells take for their own must come through as it is. */
static void odd_texts(void)
{
    nvtxMarkA("quote \" backslash \\ slash / <b>&amp;</b> {\"a\": [1, 2]}");
    did_mark("\"quote \\\" backslash \\\\ slash / <b>&amp;</b> {\\\"a\\\": [1, 2]}\"");
    nvtxMarkA(""); /* readers of traces need some name */
    did_mark("\"(no message)\"");
}

/* A range with a number of each type. */
static void payloads(void)
{
    nvtxEventAttributes_t event = event_of("payload");
    const struct {
        nvtxPayloadType_t type;
        union { /* as nvtxEventAttributes_t has it */
            uint64_t ullValue;
            int64_t llValue;
            double dValue;
            uint32_t uiValue;
            int32_t iValue;
            float fValue;
        } value;
        const char *words;
    } numbers[] = {
        {NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, {.ullValue = UINT64_MAX}, "\"payload\" payload 18446744073709551615"},
        {NVTX_PAYLOAD_TYPE_INT64, {.llValue = -9007199254740993}, "\"payload\" payload -9007199254740993"},
        {NVTX_PAYLOAD_TYPE_DOUBLE, {.dValue = 0.1}, "\"payload\" payload 0.1"},
        {NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, {.uiValue = 4000000000u}, "\"payload\" payload 4000000000"},
        {NVTX_PAYLOAD_TYPE_INT32, {.iValue = -17}, "\"payload\" payload -17"},
        {NVTX_PAYLOAD_TYPE_FLOAT, {.fValue = 2.5f}, "\"payload\" payload 2.5"},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        event.payloadType = (int32_t)numbers[i].type;
        memcpy(&event.payload, &numbers[i].value, sizeof(numbers[i].value));
        nvtxRangePushEx(&event);
        did_push(numbers[i].words);
        rest();
        nvtxRangePop();
    }
}

static void categories_and_colors(void)
{
    nvtxNameCategoryA(CATEGORY_INPUT, "input");
    nvtxDomainNameCategoryA(physics, CATEGORY_OUTPUT, "output");

    nvtxEventAttributes_t event = event_of("green input");
    event.category = CATEGORY_INPUT;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff00ff00;
    nvtxRangePushEx(&event);
    did_push("\"green input\" category \"input\" color \"#00ff00\"");
    rest();
    nvtxRangePop();

    event.message.ascii = "red output";
    event.category = CATEGORY_OUTPUT;
    event.color = 0xffff0000;
    nvtxDomainRangePushEx(physics, &event);
    did_push("\"red output\" domain \"physics\" category \"output\" color \"#ff0000\"");
    rest();
    nvtxDomainRangePop(physics);

    event.message.ascii = "blue mark";
    event.color = 0xff0000ff;
    nvtxDomainMarkEx(physics, &event);
    did_mark("\"blue mark\" domain \"physics\" category \"output\" color \"#0000ff\"");
}

static void registered_texts(void)
{
    nvtxEventAttributes_t event = event_of("");
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(physics, "registered");
    nvtxDomainRangePushEx(physics, &event);
    did_push("\"registered\" domain \"physics\"");
    event.message.registered = nvtxDomainRegisterStringW(physics, L"registriert: ä");
    nvtxDomainRangePushEx(physics, &event);
    did_push("\"registriert: ä\" domain \"physics\"");
    rest();
    nvtxDomainRangePop(physics);
    nvtxDomainRangePop(physics);
}

/* Each domain has a stack of its own on a thread, so what they push and pop need not nest. */
static void interleaved_domains(void)
{
    nvtxEventAttributes_t event = event_of("solve");
    nvtxDomainRangePushEx(physics, &event);
    did_push("\"solve\" domain \"physics\"");
    rest();
    event.message.ascii = "draw";
    nvtxDomainRangePushEx(graphics, &event);
    did_push("\"draw\" domain \"graphics\"");
    rest();
    nvtxDomainRangePop(physics);
    rest();
    nvtxDomainRangePop(graphics);
}

static void *end_there(void *range)
{
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the one that ends");
    did_name_row("the one that ends");
    nvtxMarkA("ending");
    did_mark("\"ending\"");
    rest();
    nvtxRangeEnd(*(nvtxRangeId_t *)range);
    return NULL;
}

/* Ranges that are started and ended: they may overlap, and end on another thread. */
static int started_ranges(void)
{
    nvtxRangeId_t first = nvtxRangeStartA("first");
    did_start("\"first\"");
    rest();
    nvtxRangeId_t second = nvtxRangeStartW(L"zweiter");
    did_start("\"zweiter\"");
    rest();
    nvtxRangeEnd(first);
    nvtxEventAttributes_t event = event_of("frame");
    nvtxRangeId_t frame = nvtxDomainRangeStartEx(graphics, &event);
    did_start("\"frame\" domain \"graphics\"");
    rest();
    nvtxRangeEnd(second);
    nvtxDomainRangeEnd(graphics, frame);

    nvtxRangeId_t handed_on = nvtxRangeStartA("handed on");
    did_start("\"handed on\"");
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_there, &handed_on) != 0) {
        perror("cannot start a thread");
        return -1;
    }
    pthread_join(thread, NULL);
    return 0;
}

int main(void)
{
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the first");
    did_name_row("the first");
    physics = nvtxDomainCreateA("physics");
    graphics = nvtxDomainCreateW(L"graphics");

    nested_ranges();
    wide_texts();
    odd_texts();
    payloads();
    categories_and_colors();
    registered_texts();
    interleaved_domains();
    if (started_ranges() != 0)
        return 1;

    nvtxDomainDestroy(graphics);
    nvtxDomainDestroy(physics);
    puts("NVTX of every sort");
    state_print();
    return 0;
}
