using FsCheck;
using FsCheck.Fluent;

namespace Tunnel2.Http1.Tests.Support;

/// <summary>Generators of heads, bodies and damage.</summary>
internal static class Messages
{
    private const string TokenCharacters = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    /// <summary>The runs that a property makes; the seed of a failure is in its message.</summary>
    public static Config Runs(int count) => Config.QuickThrowOnFailure.WithMaxTest(count);

    public static Gen<string> Token { get; } = StringOf(TokenCharacters, 1, 24);

    /// <summary>A field value without whitespace at its ends, which no parser would keep.</summary>
    public static Gen<string> Value { get; } =
        StringOf(string.Concat(Enumerable.Range(0, 256).Select(b => (char)b).Where(c => c == '\t' || (c >= ' ' && c != '\x7F'))), 0, 80)
            .Select(v => v.Trim(' ', '\t'));

    public static Gen<string> Target { get; } =
        StringOf(string.Concat(Enumerable.Range(0x21, 0x7F - 0x21).Select(b => (char)b).Where(c => c is not '#' and not '\\')), 0, 100)
            .Select(t => "/" + t);

    /// <summary>Fields that decide about framing and persistence.</summary>
    public static Gen<string> Framing { get; } = Gen.Elements(
        "Content-Length: 5\r\n",
        "Content-Length: 0\r\n",
        "content-length:18446744073709551617\r\n",
        "Transfer-Encoding: chunked\r\n",
        "transfer-encoding:Chunked \r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive, Upgrade\r\n",
        "Upgrade: websocket\r\n",
        "Expect: 100-continue\r\n",
        "Content_Length: 7\r\n");

    /// <summary>Fields that no reader evaluates.</summary>
    public static Gen<(string Name, string Value)[]> Fields { get; } =
        Gen.Frequency((9, Gen.Choose(0, 10)), (1, Gen.Choose(30, 40)))
            .SelectMany(n => Token.SelectMany(_ => Value, (name, value) => ("X-" + name, value)).ArrayOf(n));

    /// <summary>Requests that are valid or nearly so, rich in what decides about framing.</summary>
    public static Gen<string> Request { get; } =
        from method in Gen.Frequency((12, Gen.Elements("GET", "POST", "OPTIONS", "X-Y")), (1, Gen.Elements("TRACE", "CONNECT")))
        from target in Gen.Frequency(
            (4, Target),
            (4, Gen.Elements("/", "http://a", "http://a/b?c", "/a?b\\c")),
            (1, Gen.Elements("*", "https://b:80/", "/a\\b")))
        from version in Gen.Frequency((8, Gen.Constant("HTTP/1.1")), (2, Gen.Constant("HTTP/1.0")), (1, Gen.Constant("HTTP/2.0")))
        from host in Gen.Frequency((8, Gen.Constant("Host: a\r\n")), (1, Gen.Elements("", "Host: a\r\nHost: a\r\n", "Host: [::1]:80\r\n")))
        from plain in Gen.Choose(0, 8).SelectMany(n => Token.SelectMany(_ => Value, (name, v) => name + ": " + v + "\r\n").ArrayOf(n))
        from framing in Gen.Frequency((3, Gen.Constant(0)), (5, Gen.Constant(1)), (2, Gen.Choose(2, 4))).SelectMany(n => Framing.ArrayOf(n))
        from fields in Gen.Shuffle(plain.Concat(framing))
        select $"{method} {target} {version}\r\n{host}{string.Concat(fields)}\r\n";

    /// <summary>A few edits: replace, insert or delete at a relative place.</summary>
    public static Gen<(int Kind, int At, int With)[]> Damage { get; } =
        from count in Gen.Frequency((3, Gen.Constant(0)), (4, Gen.Constant(1)), (2, Gen.Choose(2, 4)))
        from edits in (
            from kind in Gen.Choose(0, 3)
            from at in Gen.Choose(0, 9999)
            from with in Gen.OneOf(
                Gen.Choose(0, 255), Gen.Elements<int>(0, '\r', '\n', ' ', '\t', ':', ',', ';', '"', '#', '0', 0x7F, 0xA0))
            select (kind, at, with)).ArrayOf(count)
        select edits;

    public static string Apply(string message, (int Kind, int At, int With)[] damage)
    {
        foreach ((int kind, int at, int with) in damage)
        {
            int index = message.Length == 0 ? 0 : at % message.Length;
            string replacement = ((char)with).ToString();
            message = kind switch
            {
                0 when message.Length > 0 => message.Remove(index, 1).Insert(index, replacement),
                1 when message.Length > 0 => message.Remove(index, 1),
                2 => message.Insert(index, message[index..Math.Min(message.Length, index + with)]),
                _ => message.Insert(index, replacement),
            };
        }

        return message;
    }

    private static Gen<string> StringOf(string alphabet, int min, int max) =>
        from length in Gen.Choose(min, max)
        from characters in Gen.Elements(alphabet.ToCharArray()).ArrayOf(length)
        select new string(characters);
}
