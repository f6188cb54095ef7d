#include "tests/unit.h"

#include "analysis/render/render.h"
#include "analysis/base/shorten.h"

#define MOST 16

static struct shorten_text texts[MOST];

/* What becomes of COUNT texts, freed by release(). */
static void shorten(const char *const *list, size_t count, size_t width, bool ascii)
{
    for (size_t i = 0; i < count; i++)
        texts[i] = (struct shorten_text){list[i], strlen(list[i]), render_width(list[i], strlen(list[i])), NULL};
    assert_int_equal(shorten_all(texts, count, width, ascii), 0);
    for (size_t i = 0; i < count; i++)
        if (texts[i].shortened)
            assert_true(render_width(texts[i].shortened, strlen(texts[i].shortened)) <= width);
}

static void release(size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i].shortened);
}

UNIT_TEST(a_text_that_fits_stays)
{
    static const char *const list[] = {"12345678", ""};
    shorten(list, 2, 8, false);
    assert_null(texts[0].shortened);
    assert_null(texts[1].shortened);
}

UNIT_TEST(a_long_text_loses_its_middle)
{
    static const char *const list[] = {"abcdefghijklmnopqrstuvwxyz", "äöüäöüäöüäöüäöüäöü"};
    shorten(list, 2, 10, false);
    assert_string_equal(texts[0].shortened, "abcdef…xyz");
    assert_string_equal(texts[1].shortened, "äöüäöü…äöü");
    release(2);
    shorten(list, 1, 12, true);
    assert_string_equal(texts[0].shortened, "abcdef...xyz");
    release(1);
}

UNIT_TEST(texts_that_differ_at_their_end_keep_more_of_it)
{
    static const char *const list[] = {"a_common_start_of_names_number_one_x", "a_common_start_of_names_number_two_x"};
    shorten(list, 2, 16, false);
    assert_string_not_equal(texts[0].shortened, texts[1].shortened);
    assert_non_null(strstr(texts[0].shortened, "one_x"));
    release(2);
}

UNIT_TEST(texts_that_differ_in_their_middle_keep_that)
{
    static const char *const list[] = {
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x32x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4",
    };
    shorten(list, 3, 24, false);
    for (size_t i = 0; i < 3; i++)
        assert_string_not_equal(texts[i].shortened, texts[(i + 1) % 3].shortened);
    assert_non_null(strstr(texts[0].shortened, "tn_n"));
    assert_non_null(strstr(texts[1].shortened, "nn_n"));
    release(3);
}

UNIT_TEST(equal_texts_are_shortened_alike)
{
    static const char *const list[] = {"the same text, which is long", "the same text, which is long",
                                       "another text, which is long"};
    shorten(list, 3, 16, false);
    assert_string_equal(texts[0].shortened, texts[1].shortened);
    assert_string_not_equal(texts[0].shortened, texts[2].shortened);
    release(3);
}

UNIT_MAIN(NULL, NULL)
