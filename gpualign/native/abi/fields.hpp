// Layout of the structs shared with a device (cuda/abi) for Python: name, size, and each field's offset and type.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace gpualign {

struct AbiField {
    std::string name;
    size_t offset;
    std::string type;  // NumPy's name of the type, or the `type` of an AbiStruct
    size_t count;      // of an array; 0: a scalar
    size_t bytes;
};

struct AbiStruct {
    std::string name;
    std::string type;
    size_t size;
    std::vector<AbiField> fields;
};

// The struct whose entry describes fields of this type; instances of a template may share one.
template <class Value> struct AbiType {
    using type = Value;
};

template <class Value> std::string abi_type() {
    if constexpr (std::is_class_v<Value>) return typeid(typename AbiType<Value>::type).name();
    if (std::is_pointer_v<Value>) return "u8";
    const char kind = std::is_floating_point_v<Value> ? 'f' : std::is_signed_v<Value> ? 'i' : 'u';
    return kind + std::to_string(sizeof(Value));
}

template <class Struct, class Value> AbiField abi_field(const char* name, Value Struct::* member) {
    static const Struct object{};
    const auto offset = reinterpret_cast<const char*>(&(object.*member)) - reinterpret_cast<const char*>(&object);
    return {name, size_t(offset), abi_type<std::remove_extent_t<Value>>(), std::extent_v<Value>, sizeof(Value)};
}

// GPUALIGN_FIELDS(Struct, a, b): the AbiField of Struct::a and of Struct::b. A macro is not expanded within itself, so
// each field leaves the rest to another scan.
#define GPUALIGN_FIELDS(Struct, ...) GPUALIGN_SCAN(GPUALIGN_FIELD(Struct, __VA_ARGS__))
#define GPUALIGN_FIELD(Struct, field, ...) \
    gpualign::abi_field(#field, &Struct::field) __VA_OPT__(, GPUALIGN_NEXT GPUALIGN_CALL(Struct, __VA_ARGS__))
#define GPUALIGN_NEXT() GPUALIGN_FIELD
#define GPUALIGN_CALL ()
#define GPUALIGN_SCAN(...) GPUALIGN_SCAN_16(GPUALIGN_SCAN_16(GPUALIGN_SCAN_16(GPUALIGN_SCAN_16(__VA_ARGS__))))
#define GPUALIGN_SCAN_16(...) GPUALIGN_SCAN_4(GPUALIGN_SCAN_4(GPUALIGN_SCAN_4(GPUALIGN_SCAN_4(__VA_ARGS__))))
#define GPUALIGN_SCAN_4(...) GPUALIGN_SCAN_1(GPUALIGN_SCAN_1(GPUALIGN_SCAN_1(GPUALIGN_SCAN_1(__VA_ARGS__))))
#define GPUALIGN_SCAN_1(...) __VA_ARGS__

// The AbiStruct of a struct, of which every field is listed.
#define GPUALIGN_STRUCT(Struct, ...) gpualign::abi_struct<Struct>(#Struct, {GPUALIGN_FIELDS(Struct, __VA_ARGS__)})

template <class Struct> AbiStruct abi_struct(const char* name, std::vector<AbiField> fields) {
    return {name, typeid(Struct).name(), sizeof(Struct), std::move(fields)};
}

// The structs of each command, listed in the abi.cpp of its folder.
std::vector<AbiStruct> bounded_gaps_abi();
std::vector<AbiStruct> chains_abi();
std::vector<AbiStruct> map_abi();
std::vector<AbiStruct> mems_abi();
std::vector<AbiStruct> pairwise_abi();
std::vector<AbiStruct> text_abi();
std::vector<AbiStruct> search_abi();
std::vector<AbiStruct> verify_abi();
std::vector<AbiStruct> words_abi();

}  // namespace gpualign
