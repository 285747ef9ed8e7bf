namespace Tunnel2.TestUtilities.Tests.Patterns;

public sealed class SeededRandomTests
{
    [Fact]
    public void The_same_seed_gives_the_same_numbers()
    {
        Assert.Equal(new SeededRandom(42).NextBytes(100), new SeededRandom(42).NextBytes(100));
        Assert.NotEqual(new SeededRandom(42).NextBytes(100), new SeededRandom(43).NextBytes(100));
    }

    [Fact]
    public async Task A_failure_names_the_seed()
    {
        var seed = 0;
        var e = await Assert.ThrowsAsync<SeededRunFailedException>(() => SeededRandom.RunAsync(random =>
        {
            seed = random.Seed;
            throw new InvalidDataException("odd");
        }));
        Assert.Equal(seed, e.Seed);
        Assert.Contains($"TUNNEL2_TEST_SEED={seed}", e.Message, StringComparison.Ordinal);
        Assert.IsType<InvalidDataException>(e.InnerException);
        Assert.Throws<SeededRunFailedException>(() => SeededRandom.Run(_ => throw new InvalidDataException("odd")));
    }
}
