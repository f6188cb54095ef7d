#include "agent/cupti/driver_calls.h"

#include "tests/unit.h"

UNIT_TEST(texels_are_counted)
{
    CUDA_ARRAY_DESCRIPTOR flat = {.Width = 10, .Height = 0, .NumChannels = 2, .Format = CU_AD_FORMAT_HALF};
    assert_int_equal(array_bytes_2d(&flat), 40);
    CUDA_ARRAY3D_DESCRIPTOR box = {
        .Width = 4, .Height = 3, .Depth = 2, .NumChannels = 1, .Format = CU_AD_FORMAT_UNSIGNED_INT8};
    assert_int_equal(array_bytes_3d(&box), 24);
    box.Format = CU_AD_FORMAT_BC1_UNORM; /* at least a byte each */
    assert_int_equal(array_bytes_3d(&box), 24);
    assert_int_equal(array_bytes_2d(NULL) + array_bytes_3d(NULL) + array_bytes_mipmapped(NULL, 3), 0);
}

UNIT_TEST(levels_halve_down_to_one_texel)
{
    CUDA_ARRAY3D_DESCRIPTOR box = {
        .Width = 4, .Height = 4, .Depth = 4, .NumChannels = 1, .Format = CU_AD_FORMAT_UNSIGNED_INT8};
    assert_int_equal(array_bytes_mipmapped(&box, 1), 64);
    assert_int_equal(array_bytes_mipmapped(&box, 0), 64); /* the driver makes one at least */
    assert_int_equal(array_bytes_mipmapped(&box, 3), 64 + 8 + 1);
    assert_int_equal(array_bytes_mipmapped(&box, 99), 64 + 8 + 1);
}

UNIT_TEST(layers_do_not_halve)
{
    CUDA_ARRAY3D_DESCRIPTOR layered = {.Width = 4,
                                       .Height = 4,
                                       .Depth = 6,
                                       .NumChannels = 1,
                                       .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                       .Flags = CUDA_ARRAY3D_LAYERED};
    assert_int_equal(array_bytes_mipmapped(&layered, 9), 6 * (16 + 4 + 1));
}

UNIT_MAIN(NULL, NULL)
