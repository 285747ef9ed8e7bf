using System.Globalization;

namespace Tunnel2.Protocol.Tests.Specification;

/// <summary>One fenced example of docs/protocol.md: its key: value lines in their order.</summary>
internal sealed class Example(string kind, IReadOnlyList<KeyValuePair<string, string>> lines)
{
    public string Kind { get; } = kind;

    public IReadOnlyList<KeyValuePair<string, string>> Lines { get; } = lines;

    public string Name => this["name"];

    public string this[string key] => Find(key) ?? throw new InvalidDataException($"The example has no line \"{key}\".");

    public string? Find(string key) => All(key).FirstOrDefault();

    public IEnumerable<string> All(string key) => Lines.Where(line => line.Key == key).Select(line => line.Value);

    public byte[] Bytes => ParseHex(string.Join(' ', All("hex")));

    public int Number(string key) => int.Parse(this[key], CultureInfo.InvariantCulture);

    /// <summary>Reads "0a 61*300" as the byte 0a and 300 times the byte 61.</summary>
    public static byte[] ParseHex(string text)
    {
        var bytes = new List<byte>();
        foreach (var token in text.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            var parts = token.Split('*');
            var value = byte.Parse(parts[0], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
            bytes.AddRange(Enumerable.Repeat(value, parts.Length == 2 ? int.Parse(parts[1], CultureInfo.InvariantCulture) : 1));
        }

        return [.. bytes];
    }
}
