namespace Tunnel2.Protocol.Errors;

/// <summary>
/// The details that carry a code of HTTP/2: <see cref="StreamResetDetail.Http2Reset"/> and the 255 values after it. Pure.
/// </summary>
public static class StreamResetDetails
{
    private const int Codes = 256;

    /// <summary>The detail for a stream that the backend has reset.</summary>
    /// <param name="code">Its code; those beyond 255 become INTERNAL_ERROR (2).</param>
    public static StreamResetDetail OfHttp2(uint code) => StreamResetDetail.Http2Reset + (ushort)(code < Codes ? code : 2);

    /// <summary>The code of HTTP/2 in a detail; null when it is another detail.</summary>
    /// <param name="detail">The detail.</param>
    public static int? Http2Code(this StreamResetDetail detail) =>
        detail is >= StreamResetDetail.Http2Reset and < StreamResetDetail.Http2Reset + Codes
            ? detail - StreamResetDetail.Http2Reset
            : null;
}
