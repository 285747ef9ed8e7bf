namespace Tunnel2.Http1;

/// <summary>Recognises methods.</summary>
internal static class KnownMethods
{
    /// <summary>The known method; exact, case-sensitive.</summary>
    public static KnownMethod Classify(ReadOnlySpan<byte> method) => method.Length switch
    {
        3 when method.SequenceEqual("GET"u8) => KnownMethod.Get,
        3 when method.SequenceEqual("PUT"u8) => KnownMethod.Put,
        4 when method.SequenceEqual("POST"u8) => KnownMethod.Post,
        4 when method.SequenceEqual("HEAD"u8) => KnownMethod.Head,
        5 when method.SequenceEqual("PATCH"u8) => KnownMethod.Patch,
        5 when method.SequenceEqual("TRACE"u8) => KnownMethod.Trace,
        6 when method.SequenceEqual("DELETE"u8) => KnownMethod.Delete,
        7 when method.SequenceEqual("OPTIONS"u8) => KnownMethod.Options,
        7 when method.SequenceEqual("CONNECT"u8) => KnownMethod.Connect,
        _ => KnownMethod.Other,
    };
}
