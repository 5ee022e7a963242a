// FASTQ text to reads, step by step: where lines begin, the sizes of each record, where its parts go, and the copy.
// Text that is malformed or has another form sets FastqFacts::odd: then the host parses it, and says what is wrong.
#pragma once
#include "abi/fastq.hpp"
#include "algo/common/group.hpp"
#include "algo/map/tie_break.hpp"
#include "algo/text/columns.hpp"
#include "algo/text/fastq.hpp"

namespace gpualign {

// Clears the facts, and the counters of the kernels that map the reads.
template <class Group> GPUALIGN_HD void clear_facts(const Group& group, const FastqBatch& batch) {
    if (group.lane() == 0) *batch.facts = {};
    for (uint32_t i = group.lane(); i < batch.zero_count; i += Group::kLanes) batch.zeros[i] = 0;
}

// Finds where lines begin that follow the newlines in a tile.
template <class Group>
GPUALIGN_HD void find_lines(const Group& group, const FastqText& file, uint32_t lines, uint32_t tile) {
    const uint32_t begin = tile * FastqText::kTile;
    const uint32_t end = file.bytes - begin < FastqText::kTile ? file.bytes : begin + FastqText::kTile;
    uint32_t line = file.lines_before[tile] - file.first_line;  // that the next newline ends; wraps before the first
    if (line == 0 && tile == 0 && group.lane() == 0) file.starts[0] = 0;
    for (uint32_t at = begin; at < end; at += Group::kLanes) {
        const uint32_t i = at + group.lane();
        const bool newline = i < end && file.text[i] == '\n';
        const uint32_t found = group.ballot(newline);
        const uint32_t next = line + group.before(found) + 1;
        if (newline && next <= lines) file.starts[next] = i + 1;
        line += count_bits(found);
    }
}

struct FastqLine {
    const char* text;
    uint32_t size;  // without the line end, CR LF included
};

struct FastqRecord {
    const char *name, *bases, *qualities;
    uint32_t name_size, size;
};

class FastqRecords {
public:
    GPUALIGN_HD FastqRecords(const FastqText& file) : file_(file) {}

    // Sets the parts of a record; false if it is malformed or has another form.
    GPUALIGN_HD bool load(uint32_t number, FastqRecord& record) const {
        FastqLine head, sequence, plus, quality;
        if (!line(4 * number, head) || !line(4 * number + 1, sequence) || !line(4 * number + 2, plus) ||
            !line(4 * number + 3, quality))
            return false;
        uint32_t name = 1;
        bool sound = true;
        for (; name < head.size && name <= FastqBatch::kLongestName + 1 && !ends_name(head.text[name]); name++)
            sound = sound && head.text[name] != kReturn;
        record = {head.text + 1, sequence.text, quality.text, name - 1, sequence.size};
        return sound && head.size > 1 && head.text[0] == '@' && plus.size > 0 && plus.text[0] == '+' &&
               sequence.size > 0 && sequence.size == quality.size && record.name_size > 0 &&
               record.name_size <= FastqBatch::kLongestName;
    }

private:
    // False if the text has changed since its lines were counted.
    GPUALIGN_HD bool line(uint32_t number, FastqLine& line) const {
        const uint32_t begin = file_.starts[number], next = file_.starts[number + 1];
        if (begin >= next || next > file_.bytes || file_.text[next - 1] != '\n') return false;
        line = {file_.text + begin, next - 1 - begin};
        if (line.size > 0 && line.text[line.size - 1] == kReturn) line.size--;
        return true;
    }

    const FastqText& file_;
};

struct FastqFound {
    bool odd;
    uint32_t longest;
};

// Measures the records of this number in their files: sets their reads' sizes, tie_breaks and templates.
GPUALIGN_HD FastqFound measure_reads(const FastqBatch& batch, uint32_t number) {
    FastqRecord records[2] = {};
    FastqFound found{!FastqRecords(batch.first).load(number, records[0]), 0};
    int64_t name_sizes[2] = {records[0].name_size, 0};
    if (batch.mates_each == 2) {
        if (!FastqRecords(batch.second).load(number, records[1])) found.odd = true;
        bool dots = false;
        if (!found.odd) {
            const TwoNames names = compare_names(records[0].name, records[0].name_size, records[1].name,
                records[1].name_size, batch.all_dots != 0, dots);
            found.odd = batch.check_names && !are_mates(names);
        }
        for (int mate = 0; mate < 2; mate++)
            name_sizes[mate] = template_name_size(records[mate].name, records[mate].name_size, dots);
    }
    for (uint32_t mate = 0; mate < batch.mates_each; mate++) {
        const uint32_t read = batch.mates_each * number + mate, size = records[mate].size;
        batch.sizes[read] = uint64_t(size) << 32 | uint64_t(name_sizes[mate]);
        if (batch.mates) batch.mates[read] = batch.mates_each == 1 ? kSingle : mate ? kSecondMate : kFirstMate;
        if (batch.tie_breaks)
            batch.tie_breaks[read] = tie_break_hash(records[mate].name, found.odd ? 0 : name_sizes[mate]);
        if (batch.templates && read % batch.template_reads == 0) batch.templates[read / batch.template_reads] = read;
        if (size > found.longest) found.longest = size;
    }
    if (batch.templates && batch.mates_each * (number + 1) == batch.reads)
        batch.templates[batch.reads / batch.template_reads] = batch.reads;
    return found;
}

// What a read adds to the places of those after it. All reads count as empty if the host is to parse them, or if one is
// longer than expected, so that the next steps, which are enqueued already, stay within their memory.
GPUALIGN_HD uint64_t size_of_read(const FastqBatch& batch, uint32_t read) {
    return batch.facts->odd || batch.facts->longest > batch.longest ? 0 : batch.sizes[read];
}

// Writes a read to its place; false if it has characters that are not allowed, or a name with characters that SAM does
// not allow: the host counts such names.
template <class Group> GPUALIGN_HD bool copy_read(const Group& group, const FastqBatch& batch, uint32_t read) {
    const uint64_t place = batch.places[read] + batch.block_sums[read / FastqBatch::kScanned],
                   size = size_of_read(batch, read);
    const uint32_t bases = uint32_t(place >> 32), names = uint32_t(place), length = uint32_t(size >> 32),
                   name_size = uint32_t(size);
    if (group.lane() == 0) {
        const bool last = read + 1 == batch.reads;
        batch.base_offsets[read] = bases;
        if (last) batch.base_offsets[read + 1] = bases + length;
        if (batch.name_offsets) batch.name_offsets[read] = names;
        if (batch.name_offsets && last) batch.name_offsets[read + 1] = names + name_size;
    }
    FastqRecord record;
    const bool second = batch.mates_each == 2 && read % 2;
    if (length == 0 || !FastqRecords(second ? batch.second : batch.first).load(read / batch.mates_each, record))
        return true;
    bool sound = true;
    for (uint32_t i = group.lane(); batch.names && i < name_size; i += Group::kLanes) {
        batch.names[names + i] = uint8_t(record.name[i]);
        sound = sound && is_in_sam_names(uint8_t(record.name[i]));
    }
    for (uint32_t i = group.lane(); i < length; i += Group::kLanes) {
        const uint8_t base = nucleotide_of(uint8_t(record.bases[i])), quality = uint8_t(record.qualities[i]);
        sound = sound && base != 0 && is_quality(quality);
        batch.bases[bases + i] = base ? base : 'N';
        if (batch.qualities) batch.qualities[bases + i] = quality;
    }
    return !group.sync_any(!sound);
}

}  // namespace gpualign
