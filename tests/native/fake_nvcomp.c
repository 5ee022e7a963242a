// A stand-in for nvCOMP in ordinary memory: every text is stored as it is, and every third one fails.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef VERSION
#define VERSION 6000
#endif
#ifndef RESULT
#define RESULT 0
#endif

typedef struct {
    int algorithm;
    char reserved[60];
} Options;
typedef struct {
    int backend, sorted;
    char reserved[56];
} InflateOptions;
typedef struct {
    uint32_t version, cuda_runtime;
} Properties;

int nvcompGetProperties(Properties* properties) {
    properties->version = VERSION;
    return 0;
}

int nvcompBatchedDeflateCompressGetTempSize(
    size_t count, size_t largest, Options options, size_t* bytes, size_t total, void* stream) {
    *bytes = 16 * count;
    return options.reserved[59] != 0 || total < count * largest || stream != 0;
}

int nvcompBatchedDeflateCompressGetMaxOutputChunkSize(size_t largest, Options options, size_t* bytes) {
    *bytes = largest + 9;
    return options.reserved[0] != 0;
}

int nvcompBatchedDeflateDecompressGetTempSize(
    size_t count, size_t largest, InflateOptions options, size_t* bytes, size_t total, void* stream) {
    *bytes = 8;
    return options.backend != 0 || total > count * largest || stream != 0;
}

// Of what is stored; anything else is more than it can.
int nvcompBatchedDeflateDecompressAsync(const uint8_t* const* deflated, const size_t* sizes, const size_t* capacity,
    size_t* actual, size_t count, void* scratch, size_t scratch_bytes, uint8_t* const* texts, InflateOptions options,
    int* status, void* stream) {
    if (scratch_bytes < 8 || scratch == 0 || options.backend != 0 || stream == 0) return 10;
    for (size_t i = 0; i < count; i++) {
        uint16_t size;
        if ((uintptr_t)deflated[i] % 4 != 0) return 10;
        memcpy(&size, deflated[i] + 1, 2);
        status[i] = deflated[i][0] != 1 || size + 5u != sizes[i] || size > capacity[i];
        actual[i] = status[i] ? 0 : size;
        if (!status[i]) memcpy(texts[i], deflated[i] + 5, size);
    }
    return RESULT;
}

int nvcompBatchedDeflateCompressAsync(const uint8_t* const* texts, const size_t* sizes, size_t largest, size_t count,
    void* scratch, size_t scratch_bytes, uint8_t* const* deflated, size_t* deflated_sizes, Options options, int* status,
    void* stream) {
    if (scratch_bytes < 16 * count || options.algorithm < 0 || stream == 0) return 10;
    memset(scratch, 0x77, scratch_bytes);
    for (size_t i = 0; i < count; i++) {
        const uint16_t size = (uint16_t)sizes[i], other = (uint16_t)~size;
        if (sizes[i] > largest || sizes[i] == 0) return 10;
        deflated[i][0] = 1;
        memcpy(deflated[i] + 1, &size, 2);
        memcpy(deflated[i] + 3, &other, 2);
        memcpy(deflated[i] + 5, texts[i], size);
        deflated_sizes[i] = size + 5u;
        status[i] = i % 3 == 2;
        if (status[i]) memset(deflated[i], 0xff, 5);
    }
    return RESULT;
}
