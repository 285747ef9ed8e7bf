using System.Globalization;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Tests.Masking;

/// <summary>Random documents, whole, cut anywhere and with text before them, beside a masker that parses.</summary>
public sealed partial class JsonMaskModelTests
{
    private const int Documents = 400;

    private static readonly string[] _plain =
        ["a", "name", "list", "pint", "x\"y", "back\\slash", "", "colon:", "ünï", "tab\t", "{", "q?", "☃"];

    private static readonly string[] _secret = ["password", "api_key", "Client-Secret", "tok\u0065n", "sid", "x.token\"", "set cookie"];
    private static readonly string[] _marks =
        ["\"", "\\", "\\\"", ":", ",", "}", "]", "{", "[", "\n", "\t", "ä", "😀", "/", " ", "\":", "\\\\"];

    private int _number;

    [Fact]
    public void Whole_documents_are_masked_as_by_a_parser()
    {
        for (var seed = 0; seed < Documents; seed++)
        {
            var (text, document) = Create(seed);
            var shown = Apply(text);
            var expected = Model(document, isMasking: true);
            Assert.True(
                JsonNode.DeepEquals(expected, Model(JsonNode.Parse(shown), isMasking: false)),
                $"seed {seed}:\n{text}\n{shown}\n{expected?.ToJsonString()}");
        }
    }

    [Fact]
    public void A_document_that_is_cut_anywhere_shows_no_secret_and_hides_nothing_else()
    {
        for (var seed = 0; seed < Documents / 4; seed++)
        {
            var (text, _) = Create(seed);
            var shownWhole = Numbers(Apply(text), "PUBLIC");
            var bytes = Encoding.UTF8.GetBytes(text);
            for (var length = 0; length < bytes.Length; length++)
            {
                var shown = Encoding.UTF8.GetString(JsonMask.Apply(bytes.AsSpan(0, length), MaskingRules.BuiltIn, out _));
                Assert.False(shown.Contains("SECRET", StringComparison.Ordinal), $"seed {seed}, {length} bytes:\n{shown}");

                // Each mark ends with a full stop: what is there with it is there whole.
                var cut = Encoding.UTF8.GetString(bytes, 0, length);
                foreach (var number in Numbers(cut, "PUBLIC").Intersect(shownWhole))
                {
                    Assert.True(
                        shown.Contains($"PUBLIC{number}.", StringComparison.Ordinal),
                        $"seed {seed}, {length} bytes, {number}:\n{cut}\n{shown}");
                }
            }
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("a pipe of 5\" and ")]
    [InlineData("\"")]
    [InlineData("he said \"yes\", and \"no, then ")]
    [InlineData("{\"a\":\"unfinished ")]
    [InlineData("{\"a\" \"b\" ")]
    [InlineData("data: \\\" ")]
    [InlineData("--b\r\nContent-Disposition: form-data; name=\"x\r\n\r\n")]
    public void Text_before_a_document_hides_none_of_its_keys(string before)
    {
        for (var seed = 0; seed < Documents / 4; seed++)
        {
            var (text, _) = Create(seed, mayNest: false);
            var shown = Apply(before + text);
            Assert.False(shown.Contains("SECRET", StringComparison.Ordinal), $"seed {seed}:\n{before}{text}\n{shown}");
        }
    }

    [Fact]
    public void Json_in_strings_is_masked_however_deep()
    {
        var text = """{"token":"SECRET"}""";
        for (var level = 0; level < 8; level++)
        {
            text = level % 2 == 0 ? $$"""{"a":{{JsonSerializer.Serialize(text)}}}""" : JsonSerializer.Serialize(text);
            Assert.DoesNotContain("SECRET", Apply(text), StringComparison.Ordinal);
        }
    }

    [GeneratedRegex(@"PUBLIC(\d+)\.|SECRET(\d+)\.")]
    private static partial Regex Mark { get; }

    private static HashSet<int> Numbers(string text, string kind) => [.. Mark.Matches(text)
        .Where(match => match.Value.StartsWith(kind, StringComparison.Ordinal))
        .Select(static match => int.Parse(match.Value.AsSpan(6, match.Value.Length - 7), CultureInfo.InvariantCulture))];

    private static string Apply(string text) =>
        Encoding.UTF8.GetString(JsonMask.Apply(Encoding.UTF8.GetBytes(text), MaskingRules.BuiltIn, out _));

    /// <summary>The masker of the model: it knows the tree. A string that is JSON is a tree in it.</summary>
    private static JsonNode? Model(JsonNode? node, bool isMasking)
    {
        switch (node)
        {
            case JsonObject members:
                var model = new JsonObject();
                foreach (var (name, value) in members)
                {
                    model[name] = isMasking && MaskingRules.BuiltIn.IsSecret(name) ? MaskingRules.Mask : Model(value, isMasking);
                }

                return model;
            case JsonArray items:
                return new JsonArray([.. items.Select(item => Model(item, isMasking))]);
            case JsonValue value when value.GetValueKind() == JsonValueKind.String && TryParse(value.GetValue<string>()) is { } inner:
                return new JsonObject { ["in a string"] = Model(inner, isMasking) };
            default:
                return node?.DeepClone();
        }
    }

    private static JsonNode? TryParse(string text)
    {
        if (text.AsSpan().TrimStart() is not ['{' or '[', ..])
        {
            return null;
        }

        try
        {
            return JsonNode.Parse(text);
        }
        catch (JsonException)
        {
            return null;
        }
    }

    private (string Text, JsonNode? Document) Create(int seed, bool mayNest = true)
    {
        var random = new Random(seed);
        _number = 0;
        var text = new StringBuilder();
        Write(text, random, depth: 0, isSecret: false, mayNest);
        return (text.ToString(), JsonNode.Parse(text.ToString()));
    }

    private void Write(StringBuilder text, Random random, int depth, bool isSecret, bool mayNest)
    {
        Space(text, random);
        switch (depth == 0 ? 0 : random.Next(depth < 4 ? 7 : 4) switch { 4 or 5 => 0, 6 => 1, var leaf => leaf + 2 })
        {
            case 0:
                text.Append('{');
                var names = _plain.Concat(_secret).OrderBy(_ => random.Next()).Take(random.Next(5)).ToList();
                for (var i = 0; i < names.Count; i++)
                {
                    text.Append(i > 0 ? "," : "");
                    Space(text, random);
                    text.Append(Quoted(names[i], random));
                    Space(text, random);
                    text.Append(':');
                    Write(text, random, depth + 1, isSecret || _secret.Contains(names[i]), mayNest);
                }

                text.Append('}');
                break;
            case 1:
                text.Append('[');
                for (int i = 0, count = random.Next(4); i < count; i++)
                {
                    text.Append(i > 0 ? "," : "");
                    Write(text, random, depth + 1, isSecret, mayNest);
                }

                text.Append(']');
                break;
            case 2 when mayNest && !isSecret && depth < 3 && random.Next(3) == 0:
                var inner = new StringBuilder();
                Write(inner, random, 0, isSecret, random.Next(2) == 0);
                text.Append(Quoted(inner.ToString(), random));
                break;
            case 2 or 3:
                text.Append(Quoted(Words(random) + Marked(isSecret) + Words(random), random));
                break;
            case 4:
                text.Append((string[])["true", "false", "null", "-1.5e3", "0", "12"] is var words ? words[random.Next(words.Length)] : "");
                break;
            default:
                text.Append("\"\"");
                break;
        }

        Space(text, random);
    }

    private string Marked(bool isSecret) => FormattableString.Invariant($"{(isSecret ? "SECRET" : "PUBLIC")}{_number++}.");

    /// <summary>Never the begin of a document: text that only looks like one is another test's.</summary>
    private static string Words(Random random) =>
        string.Concat(Enumerable.Range(0, random.Next(4)).Select(_ => _marks[random.Next(_marks.Length)]))
            .TrimStart('{', '[', '\n', '\t', ' ');

    private static void Space(StringBuilder text, Random random) => text.Append(random.Next(4) == 0 ? " \n\t\r "[..random.Next(6)] : "");

    /// <summary>A string in one of its spellings.</summary>
    private static string Quoted(string value, Random random)
    {
        var text = new StringBuilder("\"");
        foreach (var character in value)
        {
            text.Append(character switch
            {
                '"' => random.Next(3) == 0 ? "\\u0022" : "\\\"",
                '\\' => random.Next(3) == 0 ? "\\u005C" : "\\\\",
                '/' when random.Next(2) == 0 => "\\/",
                < ' ' => character == '\n' && random.Next(2) == 0 ? "\\n" : $"\\u{(int)character:x4}",
                _ when char.IsSurrogate(character) || random.Next(12) == 0 => $"\\u{(int)character:X4}",
                _ => character.ToString(),
            });
        }

        return text.Append('"').ToString();
    }
}
