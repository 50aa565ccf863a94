// A directory for one test, removed with everything in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace unshard {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "unshard-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data()) == nullptr ? std::string() : pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string At(std::string_view key) const {
    return path_ + '/' + std::string(key);
  }
  // Writes a file in place, and its parent directories.
  void Write(std::string_view key, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(At(key)).parent_path());
    std::ofstream file(At(key), std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  // Replaces a file as publishers do: under another name, then renamed.
  void Replace(std::string_view key, std::string_view text) const {
    Write(std::string(key) + ".tmp", text);
    std::filesystem::rename(At(key) + ".tmp", At(key));
  }
  void Remove(std::string_view key) const { std::filesystem::remove_all(At(key)); }
  // Makes a file old enough that its bytes count as settled. The change time stays.
  void Age(std::string_view key) const {
    std::filesystem::last_write_time(
        At(key), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }

 private:
  std::string path_;
};

}  // namespace unshard
