// What a device's thread does for each batch, without the GIL: PyCUDA makes contexts and gives memory, this does the
// rest.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <deque>

#include "bindings.hpp"
#include "run/ahead.hpp"
#include "run/nvcomp.hpp"
#include "run/pinned.hpp"
#include "run/stream.hpp"

namespace gpualign {
namespace nb = nanobind;
namespace {

using Release = nb::gil_scoped_release;
using Address = DeviceAddress;
using HostMemory = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>;

// The bytes of a contiguous object with a buffer, for as long as this lives.
class Bytes {
public:
    Bytes(nb::handle object, int flags) {
        if (PyObject_GetBuffer(object.ptr(), &view_, flags)) throw nb::python_error();
    }
    ~Bytes() { PyBuffer_Release(&view_); }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    char* begin() const { return static_cast<char*>(view_.buf); }
    size_t size() const { return size_t(view_.len); }

private:
    Py_buffer view_;
};

// Arguments as a kernel has them: numbers at multiples of their sizes, structs (NumPy records and arrays) at multiples
// of eight, and all else as addresses on the device.
std::vector<char> packed(const nb::typed<nb::tuple, nb::any, nb::ellipsis>& arguments, nb::handle record) {
    std::vector<char> all;
    const auto add = [&](const void* bytes, size_t size, size_t alignment) {
        all.resize((all.size() + alignment - 1) / alignment * alignment);
        all.insert(all.end(), static_cast<const char*>(bytes), static_cast<const char*>(bytes) + size);
    };
    for (nb::handle argument : arguments) {
        if (PyObject_CheckBuffer(argument.ptr())) {
            const Bytes bytes(argument, PyBUF_SIMPLE);
            const bool is_struct = nb::isinstance(argument, record) || bytes.size() > sizeof(Address);
            add(bytes.begin(), bytes.size(), is_struct ? sizeof(Address) : bytes.size());
        } else {
            const Address address = nb::cast<Address>(nb::int_(argument));
            add(&address, sizeof address, sizeof address);
        }
    }
    return all;
}

CudaStream::Shape shape(const std::tuple<unsigned, unsigned, unsigned>& of) {
    return {std::get<0>(of), std::get<1>(of), std::get<2>(of)};
}

// Memory on a device, of the current context. It stays until it is freed, or the context goes.
struct Memory {
    std::shared_ptr<const CudaDriver> driver;
    Address address;
};

// A stream, and what must stay until it has done its work.
struct Stream : CudaStream {
    using CudaStream::CudaStream;
    std::vector<nb::object> held;
    nb::object record = nb::module_::import_("numpy").attr("void");
};

void bind_driver(nb::module_& m) {
    nb::exception<CudaError>(m, "CudaError", PyExc_RuntimeError);
    nb::exception<NvcompError>(m, "NvcompError", PyExc_RuntimeError);
    nb::class_<CudaDriver>(m, "CudaDriver", "The functions of NVIDIA's driver, out of its library.")
        .def(nb::init<const std::string&>(), nb::arg("path"))
        .def(
            "load",
            [](std::shared_ptr<const CudaDriver> driver, const nb::bytes& code) {
                const void* const image = code.data();
                const Release release;
                return CudaModule(std::move(driver), image);
            },
            nb::arg("code"), "A cubin or fat binary, loaded in the current context.")
        .def(
            "allocate",
            [](std::shared_ptr<const CudaDriver> driver, size_t size) {
                Address address;
                const int error = driver->allocate(&address, size);
                if (error == kCudaOutOfMemory) throw std::bad_alloc();
                driver->check(error, "allocating memory");
                return Memory{std::move(driver), address};
            },
            nb::arg("size"), nb::call_guard<Release>(),
            "Memory of the current context. Raises MemoryError where there is none.")
        .def(
            "pinned_memory",
            [](std::shared_ptr<const CudaDriver> driver) {
                return std::make_shared<PinnedMemory>(std::move(driver), large_pages_are_had());
            },
            "Of the current context, for all threads.")
        .def(
            "stream",
            [](std::shared_ptr<const CudaDriver> driver, std::shared_ptr<Bell> bell) {
                return std::make_shared<Stream>(std::move(driver), std::move(bell));
            },
            nb::arg("bell"), "A stream of the current context; the bell rings where a batch is done.")
        .def(
            "event", [](const CudaDriver& driver) { return CudaEvent(driver); },
            "An event of the current context, which no stream has recorded yet.");
    nb::class_<CudaModule>(m, "CudaModule")
        .def("get_function", &CudaModule::function, nb::arg("name"), nb::call_guard<Release>());
    nb::class_<Memory>(m, "CudaMemory")
        .def("__int__", [](const Memory& memory) { return memory.address; })
        .def("__index__", [](const Memory& memory) { return memory.address; })
        .def(
            "free",
            [](const Memory& memory) { memory.driver->check(memory.driver->free(memory.address), "freeing memory"); },
            nb::call_guard<Release>());
    nb::class_<CudaFunction>(m, "CudaFunction")
        .def("set_attribute", &CudaFunction::set_attribute, nb::arg("which"), nb::arg("value"),
            nb::call_guard<Release>())
        .def_prop_ro("num_regs",
            [](const CudaFunction& function) { return function.attribute(4); });  // CU_FUNC_ATTRIBUTE_NUM_REGS
}

void bind_stream(nb::module_& m) {
    nb::class_<Bell>(m, "Bell", "Wakes a device's thread.")
        .def(nb::init<>())
        .def("ring", &Bell::ring)
        .def("wait", &Bell::wait, nb::arg("seconds"), nb::call_guard<Release>(),
            "Until it has been rung, or so many seconds.");
    nb::class_<CudaEvent>(m, "CudaEvent");
    nb::class_<Stream>(
        m, "CudaStream", "What a device is to do: written down first, and enqueued by `flush` or `wait`.")
        .def(
            "copy_to_device",
            [](Stream& stream, Address to, nb::object array) {
                const Bytes bytes(array, PyBUF_SIMPLE);
                stream.copy_to_device(to, bytes.begin(), bytes.size());
                stream.held.push_back(std::move(array));
            },
            nb::arg("to"), nb::arg("array"))
        .def(
            "copy_from_device",
            [](Stream& stream, nb::object array, Address from) {
                const Bytes bytes(array, PyBUF_WRITABLE);
                stream.copy_from_device(bytes.begin(), from, bytes.size());
                stream.held.push_back(std::move(array));
            },
            nb::arg("array"), nb::arg("source"))
        .def("copy_on_device", &Stream::copy_on_device, nb::arg("to"), nb::arg("source"), nb::arg("nbytes"))
        .def("fill", &Stream::fill, nb::arg("to"), nb::arg("value"), nb::arg("nbytes"))
        .def(
            "launch",
            [](Stream& stream, const CudaFunction& function, const std::tuple<unsigned, unsigned, unsigned>& grid,
                const std::tuple<unsigned, unsigned, unsigned>& block, unsigned shared,
                const nb::typed<nb::tuple, nb::any, nb::ellipsis>& arguments) {
                stream.launch(function.handle, shape(grid), shape(block), shared, packed(arguments, stream.record));
            },
            nb::arg("function"), nb::arg("grid"), nb::arg("block"), nb::arg("shared"), nb::arg("arguments"))
        .def(
            "deflate",
            [](Stream& stream, std::shared_ptr<const Nvcomp> nvcomp, size_t count, size_t largest, Address texts,
                Address text_bytes, Address scratch, size_t scratch_bytes, Address deflated, Address deflated_bytes,
                Address status) {
                stream.then("deflating", [=, nvcomp = std::move(nvcomp), handle = stream.handle()] {
                    nvcomp->deflate(count, largest, texts, text_bytes, scratch, scratch_bytes, deflated, deflated_bytes,
                        status, handle);
                    return 0;
                });
            },
            nb::arg("nvcomp"), nb::arg("count"), nb::arg("largest"), nb::arg("texts"), nb::arg("text_bytes"),
            nb::arg("scratch"), nb::arg("scratch_bytes"), nb::arg("deflated"), nb::arg("deflated_bytes"),
            nb::arg("status"),
            "`texts` to `status`: addresses of arrays on the device, of addresses, sizes and numbers that are 0 for "
            "what was deflated.")
        .def(
            "inflate",
            [](Stream& stream, std::shared_ptr<const Nvcomp> nvcomp, size_t count, Address deflated,
                Address deflated_bytes, Address texts, Address text_bytes, Address inflated_bytes, Address scratch,
                size_t scratch_bytes, Address status) {
                stream.then("inflating", [=, nvcomp = std::move(nvcomp), handle = stream.handle()] {
                    nvcomp->inflate(count, deflated, deflated_bytes, texts, text_bytes, inflated_bytes, scratch,
                        scratch_bytes, status, handle);
                    return 0;
                });
            },
            nb::arg("nvcomp"), nb::arg("count"), nb::arg("deflated"), nb::arg("deflated_bytes"), nb::arg("texts"),
            nb::arg("text_bytes"), nb::arg("inflated_bytes"), nb::arg("scratch"), nb::arg("scratch_bytes"),
            nb::arg("status"), "As `deflate`; `deflated` holds multiples of 4.")
        .def("record", &Stream::record_event, nb::arg("event"))
        .def("wait_for", &Stream::wait_for, nb::arg("event"),
            "What is written down next starts when what has been recorded last is done.")
        .def("mark", &Stream::mark, "`wait` will say when all before this was done.")
        .def("flush", &Stream::flush, nb::arg("last") = false, nb::call_guard<Release>(),
            "Enqueue what was written down; last: the end of a batch, at which the bell rings.")
        .def_prop_ro("is_done", &Stream::is_done)
        .def(
            "now", [](const Stream& stream) { return CudaEvent(stream.now()); }, nb::call_guard<Release>(),
            "An event that has just been.")
        .def(
            "wait",
            [](Stream& stream, const CudaEvent& origin, double looking_s) {
                std::vector<double> times;
                {
                    const Release release;
                    times = stream.wait(origin.handle(), looking_s);
                }
                stream.held.clear();
                return times;
            },
            nb::arg("origin"), nb::arg("looking_s") = 0.0,
            "Until all is done; looking_s: so long the processor looks for the end before it sleeps. Returns when each "
            "mark was, seconds after origin.")
        .def("close", [](Stream& stream) { stream.close(), stream.held.clear(); });
}

void copy_arrays(nb::object to, const std::vector<std::pair<size_t, nb::object>>& arrays) {
    const Bytes block(to, PyBUF_WRITABLE);
    std::deque<Bytes> parts;
    for (const auto& [offset, array] : arrays) {
        const Bytes& part = parts.emplace_back(array, PyBUF_SIMPLE);
        if (offset + part.size() > block.size()) throw std::out_of_range("an array goes beyond the memory");
    }
    const Release release;
    for (size_t i = 0; i < arrays.size(); i++)
        if (parts[i].size()) std::memcpy(block.begin() + arrays[i].first, parts[i].begin(), parts[i].size());
}

void bind_memory(nb::module_& m) {
    m.def("copy_arrays", &copy_arrays, nb::arg("to"), nb::arg("arrays"),
        "Copy arrays to their offsets in `to`; all of them without the GIL.");
    nb::class_<PinnedMemory>(m, "PinnedMemory", "Pinned host memory of one device, for all threads.")
        .def(
            "lock",
            [](std::shared_ptr<PinnedMemory> memory, size_t size) {
                void* address = nullptr;
                if (size) {
                    const Release release;
                    address = memory->lock(size);
                }
                struct Held {
                    std::shared_ptr<PinnedMemory> memory;
                    void* address;
                };
                nb::capsule owner(new Held{std::move(memory), address}, [](void* p) noexcept {
                    const std::unique_ptr<Held> held(static_cast<Held*>(p));
                    if (!held->address) return;
                    const Release release;
                    held->memory->unlock(held->address);
                });
                return HostMemory(address, {size}, owner);
            },
            nb::arg("size"), "uint8 (size,) of any content. Raises MemoryError where there is none, or after `close`.")
        .def_prop_ro("locked", &PinnedMemory::locked, "Bytes that are pinned now.")
        .def("close", &PinnedMemory::close, nb::call_guard<Release>(), "Before the context goes.");
    m.attr("NVCOMP_VERSION") = Nvcomp::kMajorVersion;
    nb::class_<Nvcomp>(m, "Nvcomp", "NVIDIA's nvCOMP.")
        .def(nb::init<const std::string&>(), nb::arg("path"))
        .def("deflate_sizes", &Nvcomp::deflate_sizes, nb::arg("count"), nb::arg("largest"), nb::call_guard<Release>(),
            "Bytes of scratch memory to deflate so many texts, and of space for each.")
        .def("inflate_scratch", &Nvcomp::inflate_scratch, nb::arg("count"), nb::arg("total"), nb::call_guard<Release>(),
            "Bytes of scratch memory to inflate so many texts of so many bytes.");

    static auto* const ahead = new ContextsAhead;  // a thread may still be at it when the process ends
    m.def(
        "open_ahead", [](const std::string& path, std::vector<int> indices) { ahead->begin(path, std::move(indices)); },
        nb::arg("path"), nb::arg("indices"),
        "Begin to make the primary contexts of these devices, none of them for all.");
    m.def("wait_for_driver", [] { ahead->wait_for_driver(); }, nb::call_guard<Release>());
    m.def(
        "opened_ahead", [](int index) { return ahead->is_there(index); }, nb::arg("index"), nb::call_guard<Release>(),
        "Whether a device's primary context was made beforehand; waits for it.");
}

}  // namespace

void bind_gpu(nb::module_& m) {
    bind_driver(m);
    bind_stream(m);
    bind_memory(m);
}

}  // namespace gpualign
