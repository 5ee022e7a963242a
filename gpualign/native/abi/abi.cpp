// Registers the structs of all commands, from which gpualign/engine/gpu/abi.py makes NumPy types.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "abi/fields.hpp"
#include "bindings.hpp"

namespace nb = nanobind;

namespace gpualign {

// {name: (size, [(field, offset, type, count of an array or 0), ...])}
static auto abi_structs() {
    std::vector<AbiStruct> entries;
    std::map<std::string, std::string> names;  // of types
    for (const auto& command : {bounded_gaps_abi(), map_abi(), chains_abi(), mems_abi(), pairwise_abi(), search_abi(),
             text_abi(), verify_abi()})
        for (const AbiStruct& entry : command) {
            names[entry.type] = entry.name;
            entries.push_back(entry);
        }
    std::map<std::string, std::tuple<size_t, std::vector<std::tuple<std::string, size_t, std::string, size_t>>>>
        structs;
    for (const AbiStruct& entry : entries) {
        std::vector<std::tuple<std::string, size_t, std::string, size_t>> fields;
        size_t covered = 0;
        for (const AbiField& field : entry.fields) {
            const auto named = names.find(field.type);
            fields.emplace_back(
                field.name, field.offset, named == names.end() ? field.type : named->second, field.count);
            covered += field.bytes;
        }
        if (covered != entry.size) throw std::logic_error(entry.name + ": a field is not listed, or there is padding");
        structs[entry.name] = {entry.size, std::move(fields)};
    }
    return structs;
}

void bind_abi(nb::module_& m) { m.def("abi_structs", &abi_structs, "Layout of the structs that cross to a device."); }

}  // namespace gpualign
