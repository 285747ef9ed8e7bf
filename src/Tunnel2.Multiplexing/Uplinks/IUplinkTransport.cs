using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// The byte connection under an uplink, and what is known of it. The reader starts the receives, the write loop the sends.
/// </summary>
internal interface IUplinkTransport : IByteTransport
{
    /// <summary>The peer's address, for people; never used for decisions.</summary>
    string RemoteName { get; }

    /// <summary>
    /// Segments that had to be sent again so far, as the operating system counts them; 0 where it does not. May cost a system call.
    /// </summary>
    long RetransmittedSegments => 0;
}
