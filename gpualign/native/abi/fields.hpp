// Layout of the structs shared with a device (cuda/abi) for Python: name, size, and each field's offset and type.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace gpualign {

struct AbiField {
    std::string name;
    size_t offset;
    std::string type;  // NumPy's name of the type, or a struct's name
    size_t count;      // of an array; 0: a scalar
    size_t bytes;
};

struct AbiStruct {
    std::string name;
    size_t size;
    std::vector<AbiField> fields;
};

template <class Value> std::string abi_type() {
    if (std::is_pointer_v<Value>) return "u8";
    const char kind = std::is_floating_point_v<Value> ? 'f' : std::is_signed_v<Value> ? 'i' : 'u';
    return kind + std::to_string(sizeof(Value));
}

// Describes a field; `type` is given if the field is a struct.
template <class Struct, class Value>
AbiField abi_field(const char* name, Value Struct::* member, const char* type = nullptr) {
    static const Struct object{};
    const auto offset = reinterpret_cast<const char*>(&(object.*member)) - reinterpret_cast<const char*>(&object);
    using Element = std::remove_extent_t<Value>;
    return {name, size_t(offset), type ? type : abi_type<Element>(), std::extent_v<Value>, sizeof(Value)};
}

#define GPUALIGN_FIELD(Struct, field) gpualign::abi_field(#field, &Struct::field)

// The structs of each command, listed in the abi.cpp of its folder.
std::vector<AbiStruct> bounded_gaps_abi();
std::vector<AbiStruct> chains_abi();
std::vector<AbiStruct> map_abi();
std::vector<AbiStruct> mems_abi();
std::vector<AbiStruct> pairwise_abi();
std::vector<AbiStruct> text_abi();
std::vector<AbiStruct> search_abi();
std::vector<AbiStruct> verify_abi();

}  // namespace gpualign
