#include "agent/cupti/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* As they lie in memory; none has a zero byte, so that no text's end is passed. */
static const struct {
    unsigned char magic[4];
    enum gputrace_image image;
} binaries[] = {
    {{0x7f, 'E', 'L', 'F'}, GPUTRACE_IMAGE_CUBIN},
    {{0x50, 0xed, 0x55, 0xba}, GPUTRACE_IMAGE_FATBIN}, /* the header of a fat binary: 0xba55ed50 */
    {{0xb1, 0x43, 0x62, 0x46}, GPUTRACE_IMAGE_FATBIN}, /* __cudaFatCudaBinary, which points to one: 0x466243b1 */
};

static bool begins_with(const unsigned char *image, const unsigned char *magic, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (image[i] != magic[i])
            return false;
    return true;
}

static const char *after_comment(const char *text)
{
    bool to_line_end = text[1] == '/';
    const char *end = strstr(text + 2, to_line_end ? "\n" : "*/");
    if (!end)
        return "";
    return end + (to_line_end ? 1 : 2);
}

/* The first word of a PTX file is ".version"; before it there may be blanks and comments. */
static bool is_ptx(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n\v\f");
        if (text[0] != '/' || (text[1] != '/' && text[1] != '*'))
            return strncmp(text, ".version", strlen(".version")) == 0;
        text = after_comment(text);
    }
}

enum gputrace_image image_sort(const void *image)
{
    if (!image)
        return GPUTRACE_IMAGE_UNKNOWN;
    for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++)
        if (begins_with(image, binaries[i].magic, sizeof(binaries[i].magic)))
            return binaries[i].image;
    return is_ptx(image) ? GPUTRACE_IMAGE_PTX : GPUTRACE_IMAGE_UNKNOWN;
}
